"""What Kubernetes and Metacontroller do to objects: how a hook is asked, and what becomes of its answer.

A `World` is a set of objects. `ask` asks the hook of a parent about one, `apply` makes of the answer what
Metacontroller makes of it, and `settle` does both until nothing changes. The contract suite holds `apply` against the
real Metacontroller. Pure.
"""
