"""What all hooks decide alike of their children and conditions: what waits, what differs, what is reported, which Events."""
