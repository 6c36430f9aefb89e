"""What Metacontroller and the hooks say to each other: requests, answers, children, and the controllers to install."""
