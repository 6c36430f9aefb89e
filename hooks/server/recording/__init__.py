"""Calls of the hooks that a server keeps, without secrets, and what another version answers to them.

blanking    a request without values of Secrets and variables
answering   what this version answers to a recorded request: no prober, no etcd, no effect
calls       one recorded call, as the text of its file
keeping     the directory: bounded, written atomically, for its owner alone
"""
