"""What is said of a graph: its status and conditions, the reasons, its Events."""
