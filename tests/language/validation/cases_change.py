"""Changes of graphs and components, and of replicas that a scaling adapter manages."""

from tests.language.validation.objects import MAIN, Case, Manifest, component, graph, service

MANY = {"nodeCount": 2}
BACKEND = "spec.backendFramework is immutable and cannot be changed after creation"
BACKEND_WARNING = "Changing spec.backendFramework may cause unexpected behavior"
LEAST = "spec.services[main].minAvailable is immutable and cannot be changed after creation"


GROUP = {"componentKind": "PodCliqueScalingGroup", "componentName": "g-0-main", "replicas": 1, "updatedReplicas": 1}
UNDER_GROVE = {"services": {"main": GROUP}}
UNDER_COMPONENTS = {"services": {"main": {**GROUP, "componentKind": "Deployment", "componentName": "g-main"}}}
ONE: Manifest = {"main": {}}
TWO: Manifest = {**ONE, "frontend": {}}
OTHER: Manifest = {**ONE, "cache": {}}


def fixed(changes: str) -> str:
    return (
        f"spec.services: none can be added or removed under Grove ({changes}), which keeps the cliques of a "
        "PodCliqueSet; delete the graph and create it again, or switch Grove off by the graph's annotation "
        "nvidia.com/enable-grove"
    )


def running(services: Manifest, status: Manifest) -> Manifest:
    return {**graph(services), "status": status}


def flipped(name: str) -> str:
    return f"spec.services[{name}] cannot change node topology (between single-node and multi-node) after creation"


def nodes(count: int | None) -> Manifest:
    return service(resources={"limits": {"gpu": "1"}}, **({} if count is None else {"multinode": {"nodeCount": count}}))


CHANGES = (
    Case(id="nothing-changes", old=graph(backendFramework="sglang"), new=graph(backendFramework="sglang")),
    Case(
        id="other-engine",
        old=graph(backendFramework="sglang"),
        new=graph(backendFramework="vllm"),
        problems=(BACKEND,),
        warnings=(BACKEND_WARNING,),
    ),
    Case(
        id="first-engine",
        old=graph(),
        new=graph(backendFramework="vllm"),
        problems=(BACKEND,),
        warnings=(BACKEND_WARNING,),
    ),
    Case(
        id="engine-dropped",
        old=graph(backendFramework="vllm"),
        new=graph(),
        problems=(BACKEND,),
        warnings=(BACKEND_WARNING,),
    ),
    Case(id="service-added", old=running(ONE, UNDER_COMPONENTS), new=graph(TWO)),
    Case(id="service-removed", old=running(TWO, UNDER_COMPONENTS), new=graph(ONE)),
    Case(id="service-replaced", old=running(TWO, UNDER_COMPONENTS), new=graph(OTHER)),
    Case(id="service-added-before-anything-runs", old=graph(ONE), new=graph(TWO)),
    Case(
        id="services-added-under-grove",
        old=running(ONE, UNDER_GROVE),
        new=graph({**TWO, "cache": {}}),
        problems=(fixed("added: cache, frontend"),),
    ),
    Case(
        id="services-removed-under-grove",
        old=running({**TWO, "cache": {}}, UNDER_GROVE),
        new=graph(ONE),
        problems=(fixed("removed: cache, frontend"),),
    ),
    Case(
        id="service-replaced-under-grove",
        old=running(TWO, UNDER_GROVE),
        new=graph(OTHER),
        problems=(fixed("added: cache; removed: frontend"),),
    ),
    Case(
        id="service-added-and-no-grove-any-more",
        old=running(ONE, UNDER_GROVE),
        new=graph(TWO, annotations={"nvidia.com/enable-grove": "false"}),
    ),
    Case(id="replicas-without-adapter", old=service(replicas=1), new=service(replicas=3)),
    Case(
        id="other-least",
        old=service(minAvailable=2, replicas=3),
        new=service(minAvailable=3, replicas=3),
        problems=(LEAST,),
    ),
    Case(id="least-that-comes", old=service(replicas=3), new=service(minAvailable=2, replicas=3), problems=(LEAST,)),
    Case(id="least-of-one-that-goes", old=service(minAvailable=1), new=service()),
    Case(id="one-node-to-two", old=nodes(None), new=nodes(2), problems=(flipped("main"),)),
    Case(id="three-nodes-to-one", old=nodes(3), new=nodes(None), problems=(flipped("main"),)),
    Case(id="more-nodes", old=nodes(2), new=nodes(4)),
    Case(
        id="more-nodes-under-grove",
        old={**nodes(2), "status": UNDER_GROVE},
        new={**nodes(4), "status": UNDER_GROVE},
        problems=(
            (
                "spec.services[main].multinode.nodeCount: cannot change from 2 to 4: Grove keeps it for as long as the "
                "PodCliqueSet exists; delete the graph and create it again, or switch Grove off by the graph's "
                "annotation nvidia.com/enable-grove"
            ),
        ),
    ),
    Case(
        id="more-nodes-and-no-grove-any-more",
        old={**nodes(2), "status": UNDER_GROVE},
        new=graph({"main": nodes(4)["spec"]["services"]["main"]}, annotations={"nvidia.com/enable-grove": "false"}),
    ),
    Case(
        id="one-of-several-flips",
        old=graph({"a": {}, "b": {}, "c": {"multinode": MANY}}),
        new=graph({"a": {}, "b": {"multinode": MANY}, "c": {"multinode": {"nodeCount": 3}}}),
        problems=(flipped("b"),),
    ),
    Case(id="multinode-service-added", old=graph(), new=graph({"main": {}, "big": {"multinode": MANY}})),
    Case(
        id="engine-of-a-component",
        old=component(backendFramework="sglang"),
        new=component(backendFramework="vllm"),
        problems=(BACKEND,),
        warnings=(BACKEND_WARNING,),
    ),
    Case(id="replicas-of-a-component", old=component(replicas=1), new=component(replicas=3)),
)

MANAGED = {"scalingAdapter": {"enabled": True}}
PROTECTED = (
    f"{MAIN}.replicas cannot be modified directly when scaling adapter is enabled; scale or update the related "
    "DynamoGraphDeploymentScalingAdapter instead"
)
SCALING = (
    Case(
        id="managed-replicas",
        old=service(replicas=1, **MANAGED),
        new=service(replicas=3, **MANAGED),
        problems=(PROTECTED,),
    ),
    Case(
        id="managed-replicas-left-out",
        old=service(replicas=3, **MANAGED),
        new=service(**MANAGED),
        problems=(PROTECTED,),
    ),
    Case(id="managed-replicas-of-one", old=service(**MANAGED), new=service(replicas=1, **MANAGED)),
    Case(
        id="adapter-switched-on-with-replicas",
        old=service(replicas=1),
        new=service(replicas=3, **MANAGED),
        problems=(PROTECTED,),
    ),
    Case(
        id="adapter-switched-off-with-replicas",
        old=service(replicas=1, **MANAGED),
        new=service(replicas=3, scalingAdapter={"enabled": False}),
    ),
    Case(id="other-fields-of-managed-service", old=service(**MANAGED), new=service(labels={"a": "b"}, **MANAGED)),
)
