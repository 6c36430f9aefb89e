"""Which objects the sync of a graph reads: related ones by rules, others on demand."""
