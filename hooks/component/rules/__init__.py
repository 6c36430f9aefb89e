"""Finds what is wrong with the spec of a component, and what is accepted but probably not meant."""
