"""How fast the hooks answer: against an echo of the same body on the same server, in the same run."""
