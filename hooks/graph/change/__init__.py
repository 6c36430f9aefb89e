"""How a graph changes while it runs: what waits, what is kept, what comes to its end."""
