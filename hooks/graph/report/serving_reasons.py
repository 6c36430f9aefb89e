"""The reasons of the condition Serving, and the field of a graph's status that lists what its frontends route.

The field is `{"models": [{"name", "frontends": "2/2"}], "frontends": [{"pod", "says"}]}`. `models` are sorted by name;
`frontends` are there only where they differ, or could not be asked. Each list is cut.
"""

from enum import StrEnum

SERVING = "Serving"
"""Type of the condition, and in lower case the field of the status."""
SERVING_FIELD = "serving"
MOST_LISTED = 32
"""The most entries of a list in the status."""


class ServingReason(StrEnum):
    """Reasons of the condition Serving."""

    ANSWERING = "Answering"
    """True: each frontend that can be asked routes each model."""
    BY_OBJECTS = "NotAsked"
    """Unknown: no frontend could be asked; pods and endpoints are as they should be."""
    ASKING = "Asking"
    """Unknown: the first answer of a frontend is to come."""
    NO_FRONTEND = "NoFrontend"
    """Unknown: the graph has no frontend."""
    SCALED_TO_ZERO = "ScaledToZero"
    """False: frontends or workers are wanted at 0."""
    NO_ENDPOINTS = "NoEndpoints"
    """False: no ready pod stands behind the Service of a frontend."""
    ROLE_MISSING = "RoleMissing"
    """False: no generation of workers has a ready pod of each role."""
    NO_MODEL = "NoModel"
    """False: a frontend offers no model at all."""
    NOT_ROUTED = "NotRouted"
    """False: a frontend does not route a model that the graph serves, or that another frontend routes."""
