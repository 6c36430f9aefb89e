"""What `validate` found, in the forms that other programs read. GitHub's lines are in `offline.manifests`."""
