"""Tools that need no cluster: they read manifests, render, compare, explain, draw and simulate. No hook runs them."""
