"""Pictures of graphs: what they show, where, and in which forms."""
