"""What all hooks decide alike: which changes wait, which children differ, the conditions Applied and Valid, Events."""
