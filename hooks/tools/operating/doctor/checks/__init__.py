"""The checks: one module a subject, each with functions from `Facts` to a list of findings."""
