"""Objects and changes that upstream's tests know, and ours beside them, each with what the rules say.

The pure rules are held to them here, and a real API server in the cluster tests.
"""

from tests.validation.cases_change import CHANGES, SCALING
from tests.validation.cases_graph import GRAPHS, NAMES
from tests.validation.cases_other import ADAPTERS, MODELS, REQUESTS
from tests.validation.cases_spec import SPECS
from tests.validation.cases_topology import TOPOLOGIES
from tests.validation.objects import Case

CASES: tuple[Case, ...] = (*GRAPHS, *NAMES, *TOPOLOGIES, *SPECS, *CHANGES, *MODELS, *REQUESTS, *ADAPTERS, *SCALING)
