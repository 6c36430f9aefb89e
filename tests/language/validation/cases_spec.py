"""The spec that a component and a graph's service share, in both places."""

from tests.language.validation.objects import MAIN, Case, Json, component, graph, service

INGRESS = "ingress.host is required when ingress is enabled"
MOUNT = "volumeMounts[0].mountPoint is required when useAsCompilationCache is false"
MEMORY = "sharedMemory.size is required when disabled is false"
EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"

AUTOSCALING = (
    "autoscaling is deprecated and ignored. Use DynamoGraphDeploymentScalingAdapter with HPA, KEDA, or Planner for "
    "autoscaling instead. See docs/kubernetes/autoscaling.md"
)
DYNAMO_NAMESPACE = (
    "dynamoNamespace is deprecated and ignored. Value 'mine' will be replaced with '{}'. Remove this field from your "
    "configuration"
)
LEAST = "minAvailable must be less than or equal to replicas unless replicas is 0"
GROVE_BACKED = "is currently supported only for Grove-backed DynamoGraphDeployment components"
EPP = {"componentType": "epp"}
REFERENCE = {"name": "picker", "key": "k"}
SHARED: tuple[tuple[str, Json, tuple[str, ...]], ...] = (
    (
        "all",
        {
            "replicas": 3,
            "ingress": {"enabled": True, "host": "h"},
            "volumeMounts": [{"name": "a", "mountPoint": "/a"}, {"name": "b", "useAsCompilationCache": True}],
            "sharedMemory": {"size": "1Gi"},
        },
        (),
    ),
    ("negative-replicas", {"replicas": -1}, (".replicas must be non-negative",)),
    ("zero-replicas", {"replicas": 0}, ()),
    ("ingress-without-host", {"ingress": {"enabled": True}}, (f".{INGRESS}",)),
    ("ingress-with-empty-host", {"ingress": {"enabled": True, "host": ""}}, (f".{INGRESS}",)),
    ("disabled-ingress", {"ingress": {"enabled": False}}, ()),
    ("mount-without-point", {"volumeMounts": [{"name": "a"}]}, (f".{MOUNT}",)),
    (
        "second-mount-without-point",
        {"volumeMounts": [{"name": "a", "mountPoint": "/a"}, {"name": "b"}]},
        (f".{MOUNT.replace('0', '1')}",),
    ),
    ("memory-without-size", {"sharedMemory": {"disabled": False}}, (f".{MEMORY}",)),
    ("memory-of-size-zero", {"sharedMemory": {"disabled": False, "size": "0"}}, (f".{MEMORY}",)),
    ("memory-of-number-zero", {"sharedMemory": {"size": 0}}, (f".{MEMORY}",)),
    ("memory", {"sharedMemory": {"size": "2Gi"}}, ()),
    ("disabled-memory", {"sharedMemory": {"disabled": True}}, ()),
    (
        "executor",
        {"annotations": {EXECUTOR: "ray2"}},
        (f'.annotations[{EXECUTOR}] has invalid value "ray2": must be "mp" or "ray"',),
    ),
    ("executor-in-capitals", {"annotations": {EXECUTOR: "RAY"}}, ()),
    (
        "picker-over-nodes",
        {
            **EPP,
            "multinode": {"nodeCount": 2},
            "eppConfig": {"configMapRef": REFERENCE},
            "resources": {"limits": {"gpu": "1"}},
        },
        (": EPP component cannot be multinode (multinode field must be nil or nodeCount must be 1)",),
    ),
    (
        "two-pickers",
        {**EPP, "replicas": 2, "eppConfig": {"configMapRef": REFERENCE}},
        (": EPP component must have exactly 1 replica (found 2 replicas)",),
    ),
    (
        "picker-without-configuration",
        EPP,
        (
            (
                ".eppConfig is required for EPP components of releases before 1.5.0; if the image is of a later "
                "release, say so in its tag or in runtimeVersionOverride"
            ),
        ),
    ),
    (
        "native-picker-with-configuration",
        {**EPP, "runtimeVersionOverride": "1.5.0", "eppConfig": {"configMapRef": REFERENCE}},
        (".eppConfig must be omitted for native Rust EPP images with runtime version 1.5.0 or later",),
    ),
    (
        "picker-with-empty-configuration",
        {**EPP, "eppConfig": {}},
        (".eppConfig: either configMapRef or config must be specified (no default configuration provided)",),
    ),
    (
        "picker-with-both",
        {**EPP, "eppConfig": {"configMapRef": REFERENCE, "config": {"plugins": []}}},
        (".eppConfig: configMapRef and config are mutually exclusive, only one can be specified",),
    ),
    (
        "picker-with-a-nameless-map",
        {**EPP, "eppConfig": {"configMapRef": {"key": "k"}}},
        (".eppConfig.configMapRef.name is required",),
    ),
    ("picker", {**EPP, "eppConfig": {"configMapRef": REFERENCE}}, ()),
)
SPECS = (
    *(
        Case(id=f"service-{name}", new=service(**spec), problems=tuple(f"{MAIN}{text}" for text in texts))
        for name, spec, texts in SHARED
    ),
    *(
        Case(id=f"component-{name}", new=component(**spec), problems=tuple(f"spec{text}" for text in texts))
        for name, spec, texts in SHARED
    ),
    Case(
        id="least-of-fewer-replicas",
        new=service(minAvailable=3, replicas=2),
        problems=(f"{MAIN}: {LEAST}",),
    ),
    Case(id="least-of-one-replica", new=service(minAvailable=2), problems=(f"{MAIN}: {LEAST}",)),
    Case(id="least-of-no-replicas", new=service(minAvailable=2, replicas=0)),
    Case(id="least-of-as-many-replicas", new=service(minAvailable=2, replicas=2)),
    Case(
        id="least-without-grove",
        new=graph({"main": {"minAvailable": 1}}, annotations={"nvidia.com/enable-grove": "false"}),
        problems=(f"{MAIN}.minAvailable {GROVE_BACKED}",),
    ),
    Case(
        id="least-of-a-component",
        new=component(minAvailable=2, replicas=1),
        problems=(f"spec: {LEAST}", f"spec.minAvailable {GROVE_BACKED}"),
    ),
    Case(
        id="two-services",
        new=graph({"b": {"replicas": -1}, "a": {"ingress": {"enabled": True}}}),
        problems=(f"spec.services[a].{INGRESS}", "spec.services[b].replicas must be non-negative"),
    ),
    Case(
        id="autoscaling-of-a-service",
        new=service(autoscaling={"enabled": True}),
        warnings=(f"{MAIN}.{AUTOSCALING}",),
    ),
    Case(
        id="namespace-of-a-service",
        new=service(dynamoNamespace="mine"),
        warnings=(f"{MAIN}.{DYNAMO_NAMESPACE.format('default-g')}",),
    ),
    Case(
        id="global-namespace-of-a-service",
        new=service(dynamoNamespace="mine", globalDynamoNamespace=True),
        warnings=(f"{MAIN}.{DYNAMO_NAMESPACE.format('dynamo')}",),
    ),
    Case(id="autoscaling-of-a-component", new=component(autoscaling={}), warnings=(f"spec.{AUTOSCALING}",)),
    Case(
        id="warnings-go-with-problems",
        new=service(autoscaling={}, sharedMemory={}),
        problems=(f"{MAIN}.{MEMORY}",),
    ),
)
