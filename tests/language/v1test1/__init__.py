"""A version of graphs for tests: `envs` is named `variables`, `note` is new, and claims and the like are gone."""
