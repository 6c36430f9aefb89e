"""How every client of ours asks over HTTP: one deadline, a bound in bytes, and answers that are what they should be.

`connections` bounds what a peer can send and for how long, `asking` asks, `documents` reads JSON from answers. What an
API server answers is read in `hooks/server/clients/manifests.py`.
"""
