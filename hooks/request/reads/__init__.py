"""Which objects the sync of a request reads: related ones by rules, others on demand."""
