"""Inputs that nobody would send, made from real ones: each surface answers them with a sentence or a sound answer.

`python -m tests.fuzzing` tries as many as are asked for; each run of the tests tries the first thousand of a surface.
"""
