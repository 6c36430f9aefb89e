"""What a change of manifests will do to objects, pods, nodes, resources and names; and the same as text or JSON."""
