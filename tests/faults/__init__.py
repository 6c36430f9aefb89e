"""Faults, what they do to a running graph, and how long the graph needs to recover: the table of docs/reliability.md.

`python -m tests.faults` plays them and writes the table; the tests of this folder hold page and plays equal.

`catalogue.THEIRS` are the names of the list of operator-chaos (https://github.com/opendatahub-io/operator-chaos, page
"Failure Modes Overview"), so that results can be compared line by line; so are the verdicts Resilient, Degraded and
Failed. WatchDisconnect is of an older list of that project. All other names, and what follows a colon, are ours.

In memory, `fault` says what a fault is, `stage` is the cluster, `play` plays one fault and judges. The faults are in
`calls`, `writes`, `children` and `programs`. `cluster` has those of a real control plane. `elsewhere` names the tests
that hold what neither plays.
"""
