"""What is said of a component: its status and conditions, the reasons, its Events."""
