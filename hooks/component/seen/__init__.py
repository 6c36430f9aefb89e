"""What the sync of a component observes: children and related objects, read into frozen values."""
