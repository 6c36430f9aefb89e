"""Finds what is wrong with the spec of a model, and what is accepted but probably not meant."""
