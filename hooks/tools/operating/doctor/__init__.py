"""`dynamo-hooks doctor`: facts are read from the cluster, checks judge them, a report shows what they found.

A check is a pure function of the facts. Only `reading` and `reviews` ask the API server, and they change nothing.
"""
