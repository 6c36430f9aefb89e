"""Many graphs on a real control plane: how long they take, what they cost, and which calls and writes they cause."""
