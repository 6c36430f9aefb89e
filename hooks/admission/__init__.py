"""An object about to be stored: `app` serves the API server's reviews, `wire` reads and writes them, `rules` judge."""
