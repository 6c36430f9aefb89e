"""Objects and changes that upstream's tests know, and ours beside them, each with what the rules say.

The pure rules are held to them here, and a real API server in the cluster tests.
"""

from tests.rules.cases_change import CHANGES, SCALING
from tests.rules.cases_graph import GRAPHS, NAMES
from tests.rules.cases_other import ADAPTERS, MODELS, REQUESTS
from tests.rules.cases_spec import SPECS
from tests.rules.cases_topology import TOPOLOGIES
from tests.rules.objects import Case

CASES: tuple[Case, ...] = (*GRAPHS, *NAMES, *TOPOLOGIES, *SPECS, *CHANGES, *MODELS, *REQUESTS, *ADAPTERS, *SCALING)
