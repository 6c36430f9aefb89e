"""What is said of a scaling adapter: its status and conditions, the reasons, its Events."""
