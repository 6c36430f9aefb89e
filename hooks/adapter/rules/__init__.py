"""Finds what is wrong with the spec of a scaling adapter, and what is accepted but probably not meant."""
