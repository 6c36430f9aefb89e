"""What the sync of a scaling adapter observes: children and related objects, read into frozen values."""
