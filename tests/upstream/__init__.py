"""Upstream's operator 1.5.0 and these hooks, compared on graphs of its repository; each difference is on a list."""
