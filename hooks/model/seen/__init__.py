"""What the sync of a model observes: children and related objects, read into frozen values."""
