"""What follows from the spec of a component alone, whatever the cluster has."""
