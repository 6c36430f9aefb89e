"""Admission webhooks: `app` serves the API server's reviews, `wire` reads and writes them, `rules` lists the rules."""
