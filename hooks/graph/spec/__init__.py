"""What follows from the spec of a graph alone, whatever the cluster has."""
