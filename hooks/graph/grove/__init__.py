"""A graph under Grove: its PodCliqueSet, what Grove made of it, and what that reports."""
