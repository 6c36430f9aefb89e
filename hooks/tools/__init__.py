"""What people run: on manifests without a cluster, on a live cluster, and the commands for both. No server loads it."""
