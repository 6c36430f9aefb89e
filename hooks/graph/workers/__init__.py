"""The workers of a graph as one: the generation that they have together."""
