"""What runs in a cluster around the hooks: HTTP servers, their clients, and the commands that pods run."""
