"""What the sync of a graph observes: children and related objects, read into frozen values."""
