"""CEL: the rules that an API server judges by itself; those of one version more stand with that version."""
