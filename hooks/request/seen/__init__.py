"""What the sync of a request observes: children and related objects, read into frozen values."""
