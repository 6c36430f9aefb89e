"""What this version of the hooks does to what runs: which pods restart or wait, and what statuses say otherwise."""
