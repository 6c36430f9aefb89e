"""What follows from the spec of a request alone, whatever the cluster has."""
