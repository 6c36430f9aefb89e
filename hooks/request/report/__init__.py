"""What is said of a request: its status and conditions, the reasons, its Events."""
