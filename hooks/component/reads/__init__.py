"""Which objects the sync of a component reads: related ones by rules, others on demand."""
