"""What graphs' frontends are asked and when, and what is known of each. Time is an argument; nothing is called here."""
