"""Finds what is wrong with the spec of a request, and what is accepted but probably not meant."""
