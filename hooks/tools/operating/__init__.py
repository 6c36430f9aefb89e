"""Tools on a live cluster, with the rights of the person who runs them. No hook runs them."""
