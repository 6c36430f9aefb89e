"""Rendered pods as processes of each release of Dynamo: `make compatibility` writes the table of docs/compatibility.md.

`releases` installs a release, `pods` turns what the hooks render into processes, `surroundings` has what a cluster
gives them, `attempt` runs one graph, `table` writes what came of it.
"""
