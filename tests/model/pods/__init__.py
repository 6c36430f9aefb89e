"""Several hooks pods as processes, engines and an API server on loopback, and a Metacontroller that is played.

`python -m tests.model.pods` runs the experiment in full size.
"""
