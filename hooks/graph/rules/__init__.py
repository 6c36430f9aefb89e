"""Finds what is wrong with the spec of a graph, and what is accepted but probably not meant."""
