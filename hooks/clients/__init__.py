"""Talks to the cluster's own servers, the API server and etcd, for what no answer to Metacontroller can say."""
