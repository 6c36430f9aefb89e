"""Rules about what a request asks of a profiler of Dynamo 1.x, in the fields of v1beta1.

The profiler would find the same after minutes or hours, or not at all.

Source: Dynamo 1.x, dynamo/profiler/utils/dgdr_validate.py and profile_sla.py.
"""

from hooks.ground.problems import Reason, Rule, Severity

GOAL = Rule(name="goal", text="{path}: is {value}, should be more than 0")
TRUST_REMOTE_CODE = Rule(
    name="trust-remote-code",
    text="{path}: is read by profilers from 1.6 on, this one is of {version}; leave it out, or name an image of 1.6",
)
GPU_SKU = Rule(name="gpu-sku", text="{path}: is {found}, which no profiler knows; should be one of {known}{hint}")
REQUEST_NAME = Rule(
    name="request-name",
    text=(
        "{path}: the graph would be named {graph}, and with the component {component} that is {length} characters; the "
        "profiler takes at most 45, and says so after its search; a request has at most {limit} characters here"
    ),
    reason=Reason.NAME,
)
GRAPH_NAME = Rule(name="graph-name", text="{path}: is {name}, which is no name of a graph: {why}")
GRAPH_OVERRIDE = Rule(name="graph-override", text="{path}: {why}")
MODEL_CACHE = Rule(
    name="model-cache",
    text="{path}: PersistentVolumeClaim {name} not found in namespace {namespace}; create it, or leave modelCache out",
)
MODEL_CACHE_NAME = Rule(
    name="model-cache-name", text="{path}: is required beside the other fields of modelCache", reason=Reason.REQUIRED
)
HARDWARE = Rule(
    name="hardware",
    text="{path}: {why}; write {fields} into it",
    reason=Reason.REQUIRED,
)
CONFIG_UNUSED = Rule(
    name="profiling-config-unused",
    text="{path}: a profiler of Dynamo {version} does not read it; it has no effect",
    severity=Severity.WARNING,
)
OVERRIDE_UNSEEN = Rule(
    name="graph-override-unseen",
    text=(
        "{path}: is merged into the graph after the search; the graphs that a thorough search measures do not have it"
    ),
    severity=Severity.WARNING,
)
SPEC_SIZE = Rule(name="asked-size", text="{path}: has {size} bytes as JSON, a process takes at most {limit}")
