"""How much a YAML text may hold, far more than honest ones do; whatever exceeds a bound is refused with a sentence."""

from dataclasses import dataclass

MAX_DEPTH = 100
"""How many lists and objects may stand in one another: more than in any object, fewer than readers of JSON bear."""

MAX_SCALAR = 2**21
"""The most characters of one text: twice as many as the data of a ConfigMap may have."""

MAX_KEY = 1024
"""The most characters of one key; YAML itself allows no more unless the key stands behind a question mark."""

MAX_DIRECTIVES = 100
"""The most `%TAG` of a text; Kubernetes needs none. The parser compares each with all before it."""

MAX_FAULTS = 1_000
"""The most faults of a text, such as keys given twice; a reader does not read more sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most documents of a text, values that are written in it, and values that its aliases stand for."""

    documents: int
    values: int
    aliased: int


FILE = Bounds(documents=10_000, values=1_000_000, aliased=100_000)
"""For files that a person names: 1,000 graphs have some 100,000 values."""

LISTING = Bounds(documents=10_000, values=10_000_000, aliased=200_000)
"""For what kubectl printed of a cluster: 5,000 nodes and their pods have some 4,000,000 values."""

STORED = Bounds(documents=1_000, values=50_000, aliased=10_000)
"""For texts in objects of a cluster, which tenants write and a server reads: a graph has some hundred values."""


class BoundExceeded(SyntaxError):
    """The text may be YAML, but has more of something than is read; the message is a sentence without the subject."""
