"""Graphs by themselves: services, claims, restarts, and how long names may be."""

from hooks.ground import contract
from tests.language.validation.objects import MAIN, Case, Json, component, graph, make, restart

THREE: Json = {"main": {}, "prefill": {}, "decode": {}}
TWO: Json = {"main": {}, "prefill": {}}
CREATED = "is required when create is true"
ORDER = "spec.restart.strategy.order"
SIZE = f"{ORDER} must have the same number of unique services as the deployment"

GRAPHS = (
    Case(id="graph", new=graph({"main": {"replicas": 3}}, backendFramework="sglang")),
    Case(id="no-services", new=graph({}), problems=("spec.services must have at least one service",)),
    Case(
        id="no-services-field",
        new=make(contract.GRAPH, {}),
        problems=("spec.services must have at least one service",),
    ),
    Case(id="no-spec", new=make(contract.GRAPH, None), problems=("spec.services must have at least one service",)),
    Case(
        id="claim-without-class",
        new=graph(pvcs=[{"name": "a", "create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}]),
        problems=(f"spec.pvcs[0].storageClass {CREATED}",),
    ),
    Case(
        id="claim-without-size",
        new=graph(pvcs=[{"name": "a", "create": True, "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}]),
        problems=(f"spec.pvcs[0].size {CREATED}",),
    ),
    Case(
        id="claim-of-size-zero",
        new=graph(
            pvcs=[
                {"name": "a", "create": True, "storageClass": "s", "volumeAccessMode": "ReadWriteOnce", "size": "0Gi"}
            ]
        ),
        problems=(f"spec.pvcs[0].size {CREATED}",),
    ),
    Case(
        id="claim-without-mode",
        new=graph(pvcs=[{"name": "a"}, {"name": "b", "create": True, "size": "1Gi", "storageClass": "s"}]),
        problems=(f"spec.pvcs[1].volumeAccessMode {CREATED}",),
    ),
    Case(
        id="claim-with-nothing",
        new=graph(pvcs=[{"name": "", "create": True}]),
        problems=(
            "spec.pvcs[0].name is required",
            f"spec.pvcs[0].storageClass {CREATED}",
            f"spec.pvcs[0].size {CREATED}",
            f"spec.pvcs[0].volumeAccessMode {CREATED}",
        ),
    ),
    Case(id="claim-that-exists", new=graph(pvcs=[{"name": "a", "create": False}])),
    Case(
        id="claim-without-name",
        new=graph(pvcs=[{"name": "", "create": False}]),
        problems=("spec.pvcs[0].name is required",),
    ),
    Case(
        id="claim",
        new=graph(
            pvcs=[
                {"name": "a", "create": True, "storageClass": "s", "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}
            ]
        ),
    ),
    Case(id="restart-without-id", new=graph(restart={"id": ""}), problems=("spec.restart.id is required",)),
    Case(id="restart", new=graph(restart={"id": "1"})),
    Case(
        id="parallel-with-order",
        new=graph(THREE, restart=restart(type="Parallel", order=["main", "main"])),
        problems=(f"{ORDER} cannot be specified when strategy is parallel",),
    ),
    Case(
        id="order-repeats",
        new=graph(THREE, restart=restart(type="Sequential", order=["main", "main", "prefill"])),
        problems=(f"{ORDER} must be unique", SIZE),
    ),
    Case(
        id="order-of-an-unknown-service",
        new=graph(TWO, restart=restart(type="Sequential", order=["main", "unknown"])),
        problems=(f"{ORDER} contains unknown service: unknown",),
    ),
    Case(
        id="order-is-partial",
        new=graph(THREE, restart=restart(type="Sequential", order=["main", "prefill"])),
        problems=(SIZE,),
    ),
    Case(
        id="order",
        new=graph(THREE, restart=restart(type="Sequential", order=["prefill", "decode", "main"])),
    ),
    Case(id="order-is-empty", new=graph(THREE, restart=restart(type="Sequential", order=[]))),
    Case(id="parallel", new=graph(THREE, restart=restart(type="Parallel"))),
)

LONG = "a-rather-long-name-of-a-graph"
NAMES = (
    Case(
        id="long-graph",
        new=graph(name="g" * 64, annotations={"nvidia.com/enable-grove": "FALSE"}),
        problems=(
            "metadata.name: has 64 characters, must have at most 63: it becomes a label",
            (
                f"{MAIN}: the name {'g' * 64}-main has 69 characters, at most 63 are possible; shorten the "
                "DynamoGraphDeployment name (length 64) or the service name (length 4)"
            ),
        ),
    ),
    Case(
        id="long-service",
        new=graph({"Worker" * 6: {}}, name=LONG, annotations={"nvidia.com/enable-grove": "false"}),
        problems=(
            (
                f"spec.services[{'Worker' * 6}]: the name {LONG}-{'worker' * 6} has 66 characters, at most 63 are "
                "possible; shorten the DynamoGraphDeployment name (length 29) or the service name (length 36)"
            ),
        ),
    ),
    Case(
        id="grove-budget",
        new=graph({"Worker" * 6 + "38": {}}, name="nine-long"),
        problems=(
            (
                f"spec.services[{'Worker' * 6}38]: combined resource name length 46 exceeds the 45-character pod-name "
                f"limit (PodCliqueSet nin-9236 + {'worker' * 6}38); shorten this name to at most 37 characters, or run "
                'the graph without Grove by its annotation nvidia.com/enable-grove: "false"'
            ),
        ),
    ),
    Case(id="within-grove-budget", new=graph({"VllmDecodeWorker": {}}, name=LONG)),
    Case(id="cut-to-grove-budget", new=graph({"VllmDecodeWorker2": {}}, name=LONG)),
    Case(
        id="cut-to-grove-budget-of-several-nodes",
        new=graph({"DecodeWorker": {"multinode": {"nodeCount": 2}}}, name="eighteen-character"),
    ),
    Case(
        id="set-that-keeps-its-name",
        old={**graph({"main": {}}, name=LONG), "status": {"podCliqueSet": LONG}},
        new=graph({"VllmDecodeWorker2": {}}, name=LONG),
        problems=(
            (
                "spec.services[VllmDecodeWorker2]: combined resource name length 46 exceeds the 45-character pod-name "
                f"limit (PodCliqueSet {LONG} + vllmdecodeworker2), and the graph's PodCliqueSet keeps its name; "
                "shorten this name to at most 16 characters, or delete the graph and create it again"
            ),
        ),
    ),
    Case(
        id="grove-budget-of-several-nodes",
        new=graph({"VllmPrefillWorker": {"multinode": {"nodeCount": 2}}}, name="dsv4-pro-disagg"),
        problems=(
            (
                "spec.services[VllmPrefillWorker]: combined resource name length 46 exceeds the 45-character pod-name "
                "limit (PodCliqueSet dsv-198e + vllmprefillworker + vllmprefillworker-ldr); shorten this name to at "
                "most 16 characters, or run the graph without Grove by its annotation nvidia.com/enable-grove: "
                '"false", where LeaderWorkerSet with Volcano runs its several nodes'
            ),
        ),
    ),
    Case(
        id="no-grove-no-budget",
        new=graph({"Worker" * 6 + "38": {}}, name="nine-long", annotations={"nvidia.com/enable-grove": "False"}),
    ),
    Case(
        id="long-leader-worker-set-of-a-graph",
        new=graph(
            {"main": {"multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "1"}}}},
            name="g" * 45,
            annotations={"nvidia.com/enable-grove": "false"},
        ),
        problems=(
            (
                f"spec.services[main].multinode: the LeaderWorkerSet would be named '{'g' * 45}-main-0', which has 52 "
                "characters, must have at most 50; shorten the name of the component, or of the graph or service"
            ),
        ),
    ),
    Case(
        id="services-differ-by-case",
        new=graph({"main": {}, "Main": {}}),
        problems=(
            "spec.services[main]: its objects would be named g-main, as those of spec.services[Main]; rename one",
        ),
    ),
    Case(
        id="service-of-no-name",
        new=graph({"a_b": {}}),
        problems=(
            "spec.services[a_b]: the name g-a_b is not possible; a service's name has letters, digits and '-' only",
        ),
    ),
    Case(
        id="long-component",
        new=component(name="c" * 64),
        problems=(
            (
                f"metadata.name: '{'c' * 64}' has 64 characters, must have at most 63: pods are selected by it, and "
                "Service and Deployment are named so"
            ),
        ),
    ),
    Case(
        id="long-service-label",
        new=component(serviceName="s" * 64),
        problems=(
            (
                f"spec.serviceName: '{'s' * 64}' has 64 characters, must have at most 63: pods are selected by it, and "
                "Service and Deployment are named so"
            ),
        ),
    ),
    Case(
        id="long-leader-worker-set",
        new=component(
            name="c" * 48,
            multinode={"nodeCount": 2},
            replicas=11,
            resources={"limits": {"gpu": "1"}},
        ),
        problems=(
            (
                f"spec.multinode: the LeaderWorkerSet would be named '{'c' * 48}-10', which has 51 characters, must "
                "have at most 50; shorten the name of the component, or of the graph or service"
            ),
        ),
    ),
)
