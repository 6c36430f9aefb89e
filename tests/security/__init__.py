"""Attacks: a value that nobody may read stands wherever an object can have one, and must not come out anywhere."""
