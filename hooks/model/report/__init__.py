"""What is said of a model: its status and conditions, the reasons, its Events."""
