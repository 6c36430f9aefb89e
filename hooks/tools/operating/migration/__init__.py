"""Takes over what the Go operator left: the plan, and the writes that carry it out."""
