"""Values for mutations by the name of the field, right and wrong ones, and fragments that reach every part of a pod."""

from typing import Any

_NAMES = ["a", "data", "models", "Data", "a_b", "a.b", "-a", "a-", "x" * 64, "x" * 260, "", "a b"]
_PATHS = ["/data", "/dev/shm", "data", "../x", "a/../b", "..x", "", "/a/../b", "/", "a/b"]
_PORTS = [8000, 9090, 0, -1, 65535, 65536, "http", "system", "HTTP", "a--b", "1234567890123456", "80", "", 70000]
_NUMBERS = [0, 1, 2, 5, 30, -1, 1000]
_SIZES = ["1", "1Gi", "500m", "0", "-1", "1.5", "100Mi", "x", "", "1e3", "2"]
_MODES = [0, 420, 511, 512, 644, -1]
_IDS = [0, 1000, 2**31 - 1, 2**31, -1]
_LABEL_KEYS = ["a", "example.com/a", "A_b.c", "a b", "-a", "example.com/", "Example.com/a", "x" * 64, "", "a/b/c"]
_LABEL_VALUES = ["a", "", "A_b.c", "a b", "-a", "x" * 64, "a/b"]

ANY_OF: list[Any] = [*_NAMES, "/a", "1", "true", "http://x"]

VALUES: dict[str, list[Any]] = {
    "action": ["Restart", "restart", "RestartAllContainers", "Stop"],
    "activeDeadlineSeconds": [100, 0],
    "apiVersion": ["v1", "v2", ""],
    "capacity": _SIZES,
    "claimName": _NAMES,
    "conditionType": _LABEL_KEYS,
    "containerName": ["main", "side", "", "A"],
    "containerPort": [8000, 9090, 0, -1, 65535, 65536, 8000],
    "controller.kubernetes.io/pod-deletion-cost": ["1", "a", "-5", "99999999999", "+1", "01", ""],
    "cpu": _SIZES,
    "defaultMode": _MODES,
    "devicePath": _PATHS,
    "divisor": ["1", "1m", "1Mi", "1k", "2", "0", "10m", "1Ki", "x"],
    "driver": ["csi.example.com", "CSI.example.com", "a_b", "", "x" * 64],
    "effect": ["NoSchedule", "NoExecute", "PreferNoSchedule", "noschedule", "", "NoEvict"],
    "envFromSecret": [*_NAMES, "hf-token-secret"],
    "expirationSeconds": [600, 3600, 599, 10, 0],
    "fieldPath": [
        *("metadata.name", "metadata.uid", "metadata.labels['a']", "metadata.annotations['a']", "metadata.labels"),
        *("status.podIP", "status.podIPs", "status.hostIP", "spec.nodeName", "spec.host", "spec.schedulerName"),
        *(
            "status.phase",
            "spec.foo",
            "",
            "metadata.labels['a b']",
            "metadata.name['a']",
            "metadata.annotations['A/b']",
        ),
    ],
    "fsGroup": _IDS,
    "gpu": _SIZES,
    "gpuType": ["nvidia.com/gpu", "amd.com/gpu", "gpu", "nvidia.com/", "a b/c", "kubernetes.io/x", "requests.a/b", ""],
    "host": ["chat", "Chat", "a.b", "a b", "*.a", "x" * 64, "-", ""],
    "hostIP": ["", "127.0.0.1", "a", "::1"],
    "hostPort": [0, 8000, 9090, 65536, -1],
    "hostSuffix": ["example.com", "Example.com", "", "-"],
    "hostname": _NAMES,
    "hostnameOverride": [*_NAMES, "a.b.c", "x" * 65],
    "hostnames": ["a", "a.b", "A", "a_b", ""],
    "image": ["my-registry/a:1", "", " ", "A:B:C", " a"],
    "imagePullPolicy": ["Always", "always", "IfNotPresent", "Never", "", "OnFailure"],
    "ingressControllerClassName": ["nginx", "Nginx", "a_b", "", "a.b"],
    "ip": ["10.0.0.1", "::1", "10.0.0", "a", "", "010.0.0.1", "fe80::1%eth0"],
    "key": [*_LABEL_KEYS, "a/b", "..", "..a", "token.json"],
    "localhostProfile": ["profiles/a.json", "/a", "../a", "", " a", "a"],
    "matchLabelKeys": ["a", "a b", "app"],
    "maxSkew": [1, 0, -1, 2],
    "medium": ["Memory", "memory", "", "HugePages"],
    "memory": _SIZES,
    "minDomains": [1, 0, 2],
    "mode": _MODES,
    "mountPath": [*_PATHS, "/data", "/models", "a:b"],
    "mountPropagation": ["None", "HostToContainer", "Bidirectional", "none", "Private", ""],
    "name": [*_NAMES, "main", "side", "http", "system", "A", "A=B"],
    "nameservers": ["10.0.0.1", "a", "::1", "", "1.2.3"],
    "namespaces": _NAMES,
    "nodeName": _NAMES,
    "operator": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "in", "", "Equals", "=="],
    "optional": [True, False],
    "path": _PATHS,
    "policy": ["Honor", "honor"],
    "port": _PORTS,
    "prefix": ["A_", "", "1", "a=b", "é"],
    "preemptionPolicy": ["Never", "PreemptLowerPriority", "", "never"],
    "priority": [0, 5, -5],
    "priorityClassName": [*_NAMES, "system-node-critical"],
    "procMount": ["Default", "Unmasked", "unmasked"],
    "protocol": ["TCP", "UDP", "SCTP", "tcp", "", "HTTP"],
    "pullPolicy": ["Always", "always", "", "Never"],
    "readOnly": [True, False],
    "recursiveReadOnly": ["Disabled", "Enabled", "IfPossible", "enabled", ""],
    "request": ["a", "A", ""],
    "resource": ["limits.cpu", "requests.memory", "limits.gpu", "cpu", "", "limits.hugepages-2Mi"],
    "resourceClaimName": _NAMES,
    "resourceClaimTemplateName": _NAMES,
    "restartPolicy": ["Always", "Never", "OnFailure", "always", "", "NotRequired", "RestartContainer"],
    "runAsGroup": _IDS,
    "runAsUser": _IDS,
    "runtimeClassName": _NAMES,
    "scheme": ["HTTP", "HTTPS", "http", ""],
    "searches": ["a.b", ".", "a_b", "A", "", "a.b."],
    "secretName": [*_NAMES, "hf-token-secret"],
    "seconds": [0, 5, 60, 61, 200, -1],
    "serviceAccount": _NAMES,
    "serviceAccountName": _NAMES,
    "size": _SIZES,
    "sizeLimit": _SIZES,
    "subPath": _PATHS,
    "subPathExpr": _PATHS,
    "subdomain": _NAMES,
    "successThreshold": [1, 2, 0, -1],
    "supplementalGroups": _IDS,
    "terminationGracePeriodSeconds": [0, 1, 30, -1, 600],
    "terminationMessagePolicy": ["File", "FallbackToLogsOnError", "file", ""],
    "timeoutSeconds": _NUMBERS,
    "tolerationSeconds": [0, 300, -1],
    "topologyKey": [*_LABEL_KEYS, "kubernetes.io/hostname"],
    "type": ["RuntimeDefault", "Localhost", "Unconfined", "Directory", "directory", "File", "", "DirectoryOrCreate"],
    "value": [*_LABEL_VALUES, "5", "a=b"],
    "values": [*_LABEL_VALUES, "5"],
    "volumeMode": ["Block", "Filesystem", "block", ""],
    "weight": [0, 1, 100, 101, -1],
    "whenUnsatisfiable": ["DoNotSchedule", "ScheduleAnyway", "doNotSchedule", "", "Ignore"],
    "a": _LABEL_VALUES,
    "a.example.com/b": ["x", ""],
    "labels{}": [[("a", "b")], [("a b", "c")], [("app", "a b")], [("example.com/a", "")]],
    "limits{}": [
        [("cpu", "1")],
        [("gpu", "1")],
        [("nvidia.com/gpu", "1")],
        [("hugepages-2Mi", "2Mi")],
        [("memory", "-1")],
    ],
    "requests{}": [
        *([("cpu", "1")], [("storage", "1Gi")], [("storage", "0")], [("ephemeral-storage", "1Gi")]),
        *([("nvidia.com/gpu", "1")], [("memory", "1Gi")], [("Memory", "1Gi")]),
    ],
}
VALUES = {
    field: [entry[0] if field.endswith("{}") and isinstance(entry, list) else entry for entry in pool]
    for field, pool in VALUES.items()
}

CLAIM_VALUES: dict[str, list[Any]] = {
    "storageClass": [*_NAMES, "fast"],
    "volumeAccessMode": ["ReadWriteOnce", "ReadWriteMany", "RWX", "readWriteOnce", "ReadWriteOncePod", ""],
}
"""Values of a graph's `pvcs`, by field."""

_SELECTOR = {
    "matchLabels": {"app": "a"},
    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
}
_POD_TERM = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": _SELECTOR,
    "namespaces": ["default"],
    "matchLabelKeys": ["pod-template-hash"],
}
_NODE_TERM = {
    "matchExpressions": [
        {"key": "gpu", "operator": "In", "values": ["h100"]},
        {"key": "n", "operator": "Gt", "values": ["1"]},
    ],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}


def _pod(**fields: Any) -> dict[str, Any]:
    return {"extraPodSpec": fields}


def _main(**fields: Any) -> dict[str, Any]:
    return _pod(mainContainer=fields)


_SOURCES: list[dict[str, Any]] = [
    {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    {"hostPath": {"path": "/data", "type": "Directory"}},
    {"secret": {"secretName": "s", "defaultMode": 420, "items": [{"key": "a", "path": "a/b", "mode": 420}]}},
    {"configMap": {"name": "c", "items": [{"key": "a", "path": "a"}]}},
    {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
    {"nfs": {"server": "nfs.example.com", "path": "/data"}},
    {"csi": {"driver": "csi.example.com", "nodePublishSecretRef": {"name": "s"}}},
    {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    {
        "downwardAPI": {
            "items": [{"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}}]
        }
    },
    {
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                {"configMap": {"name": "c", "items": [{"key": "a", "path": "a"}]}},
                {"secret": {"name": "s"}},
                {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            ]
        }
    },
    {
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "fast",
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        }
    },
    {"image": {"reference": "my-registry/model:1", "pullPolicy": "IfNotPresent"}},
]

_PROBES: list[dict[str, Any]] = [
    {"httpGet": {"path": "/live", "port": 8000, "scheme": "HTTP", "httpHeaders": [{"name": "A", "value": "b"}]}},
    {"exec": {"command": ["true"]}},
    {"tcpSocket": {"port": 9090}},
    {"grpc": {"port": 9090, "service": "a"}},
    {"periodSeconds": 5, "timeoutSeconds": 1, "failureThreshold": 3},
]

_FRAGMENTS: list[dict[str, Any]] = [
    *(
        _pod(
            volumes=[{"name": "data", **source}],
            mainContainer={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        )
        for source in _SOURCES
    ),
    *(_main(livenessProbe=probe, readinessProbe=probe) for probe in _PROBES),
    *(_main(startupProbe={**probe, "failureThreshold": 30}) for probe in _PROBES),
    *({"livenessProbe": probe} for probe in _PROBES[:4]),
    *({"readinessProbe": probe} for probe in _PROBES[:4]),
    _main(ports=[{"name": "http", "containerPort": 8000}, {"name": "m", "containerPort": 9090, "protocol": "TCP"}]),
    _main(ports=[{"containerPort": 8000, "hostPort": 8000, "hostIP": "127.0.0.1"}]),
    _main(lifecycle={"preStop": {"sleep": {"seconds": 5}}, "postStart": {"exec": {"command": ["true"]}}}),
    _main(lifecycle={"preStop": {"httpGet": {"port": "http", "path": "/stop"}}}),
    _main(imagePullPolicy="Always", terminationMessagePolicy="File", workingDir="/a", tty=True),
    _main(resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}}),
    _main(
        resources={"limits": {"nvidia.com/gpu": "1"}},
        resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    ),
    _main(
        securityContext={
            "runAsUser": 1000,
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    ),
    _main(securityContext={"privileged": True, "appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}),
    _main(envFrom=[{"secretRef": {"name": "s"}, "prefix": "A_"}, {"configMapRef": {"name": "c", "optional": True}}]),
    _main(env=[{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]),
    _main(env=[{"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}]),
    {"envs": [{"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}}]},
    {"envs": [{"name": "S", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "a", "optional": True}}}]},
    {"envs": [{"name": "S", "value": "$(POD_NAME)"}]},
    _pod(tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]),
    _pod(tolerations=[{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 30}]),
    _pod(nodeSelector={"gpu.example.com/model": "h100"}),
    _pod(
        affinity={
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODE_TERM]}}
        }
    ),
    _pod(
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": _NODE_TERM}]
            }
        }
    ),
    _pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_POD_TERM]}}),
    _pod(
        affinity={
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": _POD_TERM}]
            }
        }
    ),
    _pod(
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _SELECTOR,
                "minDomains": 2,
                "nodeTaintsPolicy": "Honor",
            }
        ]
    ),
    _pod(
        dnsPolicy="None",
        dnsConfig={"nameservers": ["10.0.0.1"], "searches": ["a.b"], "options": [{"name": "ndots", "value": "2"}]},
    ),
    _pod(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a.example.com"]}]),
    _pod(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"),
    _pod(priorityClassName="high", runtimeClassName="nvidia", serviceAccountName="a", schedulerName="s"),
    _pod(hostname="a", subdomain="b", imagePullSecrets=[{"name": "s"}], readinessGates=[{"conditionType": "a.b/c"}]),
    _pod(
        securityContext={
            "fsGroup": 1000,
            "supplementalGroups": [1],
            "sysctls": [{"name": "net.core.somaxconn", "value": "1"}],
        }
    ),
    _pod(
        securityContext={
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "Localhost", "localhostProfile": "a"},
        }
    ),
    _pod(shareProcessNamespace=True, automountServiceAccountToken=False, enableServiceLinks=False, hostPID=False),
    _pod(
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "single-gpu"}],
        mainContainer={"resources": {"claims": [{"name": "gpu"}]}},
    ),
    {**_pod(resourceClaims=[{"name": "nic", "resourceClaimName": "nic"}]), "resources": {"claims": [{"name": "nic"}]}},
    _pod(
        containers=[
            {
                "name": "side",
                "image": "my-registry/side:1",
                "livenessProbe": _PROBES[0],
                "ports": [{"name": "m", "containerPort": 9400}],
                "env": [{"name": "A", "value": "1"}],
                "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm", "subPath": "a"}],
            }
        ]
    ),
    _pod(
        initContainers=[
            {"name": "init", "image": "my-registry/init:1", "command": ["true"], "resources": {"limits": {"cpu": "1"}}}
        ]
    ),
    _pod(initContainers=[{"name": "proxy", "image": "i", "restartPolicy": "Always", "readinessProbe": _PROBES[0]}]),
    _pod(
        volumes=[{"name": "raw", "persistentVolumeClaim": {"claimName": "raw"}}],
        mainContainer={"volumeDevices": [{"name": "raw", "devicePath": "/dev/x"}]},
    ),
    {"volumeMounts": [{"name": "claim", "mountPoint": "/claim"}]},
    {"sharedMemory": {"size": "1Gi"}},
    {
        "ingress": {
            "enabled": True,
            "host": "chat",
            "ingressControllerClassName": "nginx",
            "tls": {"secretName": "t"},
            "annotations": {"a": "b"},
        }
    },
    {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "4Gi"}}},
    {
        "annotations": {"a": "b"},
        "labels": {"a": "b"},
        "extraPodMetadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}},
    },
    _pod(terminationGracePeriodSeconds=30, preemptionPolicy="Never", os={"name": "linux"}),
]

ENRICHED = _FRAGMENTS
"""Fragments of a service's spec that are right by themselves."""
