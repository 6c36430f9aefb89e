"""Fields whose values may be secret: they are compared, but neither shown, logged nor recorded."""

PAIR_LISTS = frozenset({"env", "envs", "httpHeaders"})
"""Lists of pairs of name and value: variables, and headers of probes."""

SHOWN_OF_PAIR = frozenset({"name", "valueFrom"})
"""What is shown of such a pair; a misspelt field may have the value."""

SECRET_FIELDS = frozenset({"data", "stringData"})
"""The fields of a Secret."""
