"""All faults of a real control plane by name."""

from collections.abc import Mapping

from tests.faults.cluster.calls import FAULTS as CALLS
from tests.faults.cluster.children import FAULTS as CHILDREN
from tests.faults.cluster.fault import ClusterFault
from tests.faults.cluster.programs import FAULTS as PROGRAMS

PLAYED: Mapping[str, ClusterFault] = {fault.name: fault for fault in (*CALLS, *PROGRAMS, *CHILDREN)}
