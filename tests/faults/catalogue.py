"""All faults by name: those played in memory, and those that other tests hold."""

from collections.abc import Mapping

from tests.faults.calls import FAULTS as CALLS
from tests.faults.children import FAULTS as CHILDREN
from tests.faults.fault import Fault
from tests.faults.programs import FAULTS as PROGRAMS
from tests.faults.writes import FAULTS as WRITES

THEIRS = frozenset(
    {
        "ClientFault",
        "ConfigDrift",
        "PodKill",
        "CRDMutation",
        "FinalizerBlock",
        "LabelStomping",
        "NetworkPartition",
        "OwnerRefOrphan",
        "QuotaExhaustion",
        "CrashLoopInject",
        "DeploymentScaleZero",
        "ImageCorrupt",
        "LeaderElectionDisrupt",
        "NamespaceDeletion",
        "PDBBlock",
        "RBACRevoke",
        "ResourceDeletion",
        "SecretDeletion",
        "WebhookDisrupt",
        "WebhookLatency",
    }
)
"""Names of the list of operator-chaos; a part after a colon is ours."""

PLAYED: Mapping[str, Fault] = {fault.name: fault for fault in (*CALLS, *PROGRAMS, *WRITES, *CHILDREN)}
