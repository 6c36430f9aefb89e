"""A graph under Grove: its PodCliqueSet, the objects that Grove creates from it, and their state."""
