"""The commands of `kubectl dynamo`: what a user does with a graph that runs, with the rights that `kubectl` has."""
