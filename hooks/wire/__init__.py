"""What lies between Metacontroller and the hooks: its messages, what it makes of them, what all hooks decide alike."""
