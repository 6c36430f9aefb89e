"""Rules about the profiling of a DynamoGraphDeploymentRequest: what it needs in the cluster, its Job, and its output.

Only a sync of the request enforces them, because admission sees neither the cluster nor the profiler's output.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go; its texts are kept.
"""

from hooks.ground.problems import Reason, Rule

BASE_GRAPH = Rule(name="base-graph", text="ConfigMap {name} not found in namespace {namespace}")
BASE_GRAPH_KEY = Rule(name="base-graph-key", text="key {key} not found in ConfigMap {name}")
GPU_HARDWARE = Rule(
    name="gpu-hardware",
    text=(
        "GPU hardware info required but auto-discovery failed. Add hardware config to {path} "
        "(hardware.numGpusPerNode, hardware.gpuModel, hardware.gpuVramMib): {why}"
    ),
)

PROFILER_CONFIG_SECTION = Rule(name="profiler-config-section", text="{path}: is {value}, must be an object")
PROFILER_OUTPUT_FOLDER = Rule(
    name="profiler-output-folder",
    text=(
        "{path}: is {value}, but the container that copies the output sees only {shared}; name a folder in it, or "
        "leave output_dir out"
    ),
)
PROFILER_CONFIG_SIZE = Rule(
    name="profiler-config-size",
    text=(
        "{path}: is {size} bytes as YAML, a process takes at most {limit}; put large parts into a ConfigMap and name "
        "it in {other}"
    ),
)
HOOKS_IMAGE = Rule(
    name="hooks-image",
    text=(
        "the setting hooks_image is empty, so no container can copy the profiler's output; set it to the image of the "
        "hooks (the chart does)"
    ),
    reason=Reason.REQUIRED,
)

OUTPUT = Rule(name="profiler-output", text="output ConfigMap {name} not found - profiling may not have completed yet")
OUTPUT_KEY = Rule(name="profiler-output-key", text="key {key} not found in ConfigMap {name}")
OUTPUT_YAML = Rule(
    name="profiler-output-yaml",
    text="failed to parse YAML content: line {line} of key {key} in ConfigMap {name}: {why}",
)
OUTPUT_WITHOUT_GRAPH = Rule(name="profiler-output-graph", text="no {kind} found in YAML content")
OUTPUT_ADDITIONS_SIZE = Rule(
    name="profiler-output-additions-size",
    text="additional resources have {size} bytes, must have at most {limit}",
)

GENERATED_VERSION = Rule(
    name="generated-graph-version", text="the generated graph has apiVersion {value}, must be {expected}"
)
GENERATED_SIZE = Rule(
    name="generated-graph-size", text="the generated graph has {size} bytes as JSON, must have at most {limit}"
)
GENERATED_FRACTION = Rule(
    name="generated-graph-fraction",
    text=(
        "{path}: is {value}, but only whole numbers are possible there; put the configuration into a ConfigMap and "
        "name it in {other}"
    ),
)
GENERATED_GRAPH = Rule(name="generated-graph", text="the generated graph is refused: {problem}")
RENAMED_GRAPH = Rule(name="generated-graph-name", text="the graph cannot be named {name}: {problem}")
"""`problem` in the texts of both is a problem of the generated graph, with a path in that graph."""
