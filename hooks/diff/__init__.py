"""What a change of manifests will do to objects, pods, resources and names; and the same as text or JSON."""
