"""Clients of the API server and of etcd, for all that an answer to Metacontroller cannot express."""
