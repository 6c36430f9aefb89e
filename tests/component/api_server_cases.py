"""Specs whose children the API server refuses, with what is said of them before, and specs whose children it takes."""

from typing import Any

FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}


def pod(**fields: Any) -> dict[str, Any]:
    return {"extraPodSpec": fields}


def main(**fields: Any) -> dict[str, Any]:
    return pod(mainContainer=fields)


def mounts(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"componentType": "worker", "volumeMounts": list(entries), **fields}


def node_affinity(expression: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "label's value": (
        {"labels": {"team": "a b"}},
        "spec.labels[team]: 'a b' is not a label value; use at most 63 letters",
    ),
    "long label": ({"extraPodMetadata": {"labels": {"a": "v" * 64}}}, "spec.extraPodMetadata.labels[a]: 'vvv"),
    "label's key": (
        {"labels": {"Example.com/a": "b"}},
        "spec.labels[Example.com/a]: 'Example.com/a' is not a label key",
    ),
    "label of an ingress": (
        {"ingress": {"enabled": True, "host": "h", "ingressControllerClassName": "nginx", "labels": {"a": "-"}}},
        "spec.ingress.labels[a]: '-' is not a label value",
    ),
    "annotation's key": ({"annotations": {"a/b/c": ""}}, "spec.annotations[a/b/c]: 'a/b/c' is not an annotation key"),
    "annotation's key of a pod": (
        {"extraPodMetadata": {"annotations": {"a b": "c"}}},
        "spec.extraPodMetadata.annotations[a b]: 'a b' is not an annotation key",
    ),
    "variable's name": ({"envs": [{"name": "A=B", "value": "1"}]}, "spec.envs[0].name: 'A=B' is not a variable name"),
    "variable's name in a side container": (
        pod(containers=[{"name": "a", "image": "i", "env": [{"name": "é"}]}]),
        "spec.extraPodSpec.containers[0].env[0].name: 'é' is not a variable name",
    ),
    "variable of two values": (
        main(env=[{"name": "A", "value": "1", "valueFrom": FIELD}]),
        "spec.extraPodSpec.mainContainer.env[0].valueFrom: A has both value and valueFrom",
    ),
    "variable from nowhere": (
        {"envs": [{"name": "A", "valueFrom": {"fieldRef": None}}]},
        "spec.envs[0].valueFrom: must have exactly one source",
    ),
    "port zero": (
        main(ports=[{"containerPort": 0}]),
        "spec.extraPodSpec.mainContainer.ports[0].containerPort: is 0, must be from 1 to 65535",
    ),
    "port of an init container past the last": (
        pod(initContainers=[{"name": "a", "image": "i", "ports": [{"containerPort": 65536}]}]),
        "spec.extraPodSpec.initContainers[0].ports[0].containerPort: is 65536, must be",
    ),
    "port of the host": (
        main(ports=[{"containerPort": 1, "hostPort": 70000}]),
        "spec.extraPodSpec.mainContainer.ports[0].hostPort: is 70000, must be",
    ),
    "name of a port": (
        main(ports=[{"containerPort": 1, "name": "prometheus-metrics"}]),
        "spec.extraPodSpec.mainContainer.ports[0].name: 'prometheus-metrics' is not a port name",
    ),
    "two ports of one name": (
        main(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
        "spec.extraPodSpec.mainContainer.ports[1].name: 'a' is already the name of spec.extraPodSpec.mainContainer.por",
    ),
    "negative request": (
        {"resources": {"requests": {"cpu": "-1"}}},
        "spec.resources.requests.cpu: is -1, must not be negative",
    ),
    "negative size of an emptyDir": (
        pod(volumes=[{"name": "a", "emptyDir": {"sizeLimit": "-1"}}]),
        "spec.extraPodSpec.volumes[0].emptyDir.sizeLimit: is -1, must not be negative",
    ),
    "negative shared memory": ({"sharedMemory": {"size": "-1Gi"}}, "spec.sharedMemory.size: is -1Gi, must not be"),
    "request above the limit": (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}},
        "spec.resources.requests.cpu: is 2, must be at most the limit, which is 1500m",
    ),
    "request above the main container's limit": (
        {"resources": {"requests": {"memory": "2Gi"}}, **main(resources={"limits": {"memory": "1Gi"}})},
        "spec.resources.requests.memory: is 2Gi, must be at most the limit, which is 1Gi",
    ),
    "request above the limit in a side container": (
        pod(
            containers=[
                {"name": "a", "image": "i", "resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}},
            ]
        ),
        "spec.extraPodSpec.containers[0].resources.requests[cpu]: is 2, must be at most",
    ),
    "request of fewer GPUs than the limit": (
        {"resources": {"requests": {"gpu": "1"}, "limits": {"gpu": "2"}}},
        "spec.resources.requests.gpu: is 1, must be equal to the limit, which is 2",
    ),
    "request of GPUs alone": (
        {"resources": {"requests": {"gpu": "1"}}},
        "spec.resources.requests.gpu: nvidia.com/gpu needs a limit too",
    ),
    "half a GPU": ({"resources": {"limits": {"gpu": "500m"}}}, "spec.resources.limits.gpu: is 500m, must be a whole"),
    "pods that end": (
        pod(restartPolicy="OnFailure"),
        "spec.extraPodSpec.restartPolicy: is 'OnFailure', must be 'Always' or absent",
    ),
    "mount of no volume": (
        main(volumeMounts=[{"name": "models", "mountPath": "/models"}]),
        "spec.extraPodSpec.mainContainer.volumeMounts[0].name: the pod has no volume named 'models'",
    ),
    "mount of shared memory that is disabled": (
        {
            "sharedMemory": {"disabled": True},
            **main(volumeMounts=[{"name": "shared-memory", "mountPath": "/dev/shm"}]),
        },
        "spec.extraPodSpec.mainContainer.volumeMounts[0].name: the pod has no volume named 'shared-memory'",
    ),
    "no image": (main(image=""), "spec.extraPodSpec.mainContainer.image: is required"),
    "no image of a side container": (
        pod(containers=[{"name": "a"}]),
        "spec.extraPodSpec.containers[0].image: is required",
    ),
    "no image of an init container": (
        pod(initContainers=[{"name": "a", "image": ""}]),
        "spec.extraPodSpec.initContainers[0].image: is required",
    ),
    "pull policy in lower case": (
        main(imagePullPolicy="always"),
        "mainContainer.imagePullPolicy: is 'always', must be one of Always, IfNotPresent, Never; did you mean Always?",
    ),
    "DNS policy": (pod(dnsPolicy="Cluster"), "spec.extraPodSpec.dnsPolicy: is 'Cluster', must be one of ClusterFirst"),
    "operator of a toleration": (
        pod(tolerations=[{"key": "a", "operator": "Equals", "value": "b"}]),
        "spec.extraPodSpec.tolerations[0].operator: is 'Equals', must be one of Equal, Exists",
    ),
    "effect of a toleration": (
        pod(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoEvict"}]),
        "spec.extraPodSpec.tolerations[0].effect: is 'NoEvict', must be one of NoExecute, NoSchedule",
    ),
    "value of a toleration that only asks whether": (
        pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        "tolerations[0].value: must be absent, because spec.extraPodSpec.tolerations[0].operator is Exists",
    ),
    "operator of an affinity": (
        pod(affinity=node_affinity({"key": "a", "operator": "in", "values": ["b"]})),
        "nodeSelectorTerms[0].matchExpressions[0].operator: is 'in', must be one of DoesNotExist, Exists",
    ),
    "affinity without values": (
        pod(affinity=node_affinity({"key": "a", "operator": "In"})),
        "nodeSelectorTerms[0].matchExpressions[0].values: is required, because",
    ),
    "spreading that is unknown": (
        pod(topologySpreadConstraints=[{**SPREAD, "whenUnsatisfiable": "doNotSchedule"}]),
        "whenUnsatisfiable: is 'doNotSchedule', must be one of DoNotSchedule, ScheduleAnyway; did you",
    ),
    "skew of nothing": (
        pod(topologySpreadConstraints=[{**SPREAD, "maxSkew": 0}]),
        "spec.extraPodSpec.topologySpreadConstraints[0].maxSkew: is 0, must be at least 1",
    ),
    "two handlers of a probe": (
        main(startupProbe={"exec": {"command": ["true"]}, "tcpSocket": {"port": 1}}),
        "mainContainer.startupProbe: must have exactly one of exec, grpc, httpGet, tcpSocket; it has exec, tcpSocket",
    ),
    "liveness after two successes": (
        {"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}},
        "spec.livenessProbe.successThreshold: is 2, must be 1 or absent",
    ),
    "port of a probe": (
        main(startupProbe={"tcpSocket": {"port": 70000}}),
        "mainContainer.startupProbe.tcpSocket.port: is 70000, must be a number from 1 to 65535, or the name of a port",
    ),
    "name of a volume": (
        pod(volumes=[{"name": "my_data", "emptyDir": {}}]),
        "spec.extraPodSpec.volumes[0].name: is 'my_data', must be a name of at most 63",
    ),
    "two sources of a volume": (
        pod(volumes=[{"name": "a", "emptyDir": {}, "hostPath": {"path": "/a"}}]),
        "spec.extraPodSpec.volumes[0]: must have exactly one of configMap, emptyDir",
    ),
    "secret volume without a name": (
        pod(volumes=[{"name": "a", "secret": {}}]),
        "spec.extraPodSpec.volumes[0].secret.secretName must not be empty",
    ),
    "mode of a volume's files": (
        pod(volumes=[{"name": "a", "secret": {"secretName": "s", "defaultMode": 644}}]),
        "spec.extraPodSpec.volumes[0].secret.defaultMode: is 644, must be from 0 to 511",
    ),
    "account in upper case": (
        pod(serviceAccountName="Runner"),
        "spec.extraPodSpec.serviceAccountName: is 'Runner', must be a name of at most 253",
    ),
    "Secret of variables in upper case": (
        {"envFromSecret": "HF-Token"},
        "spec.envFromSecret: is 'HF-Token', must be a name of at most 253",
    ),
    "priority class": (
        pod(priorityClassName="High_Priority"),
        "spec.extraPodSpec.priorityClassName: is 'High_Priority', must be a name",
    ),
    "field of the pod that is unknown": (
        {"envs": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.node"}}}]},
        "spec.envs[0].valueFrom.fieldRef.fieldPath: is 'spec.node', must be one of metadata.name",
    ),
    "key of a Secret": (
        {"envs": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a/b"}}}]},
        "spec.envs[0].valueFrom.secretKeyRef.key: is 'a/b', must be the key of a ConfigMap or Secret",
    ),
    "claim that the pod does not have": (
        {"resources": {"claims": [{"name": "gpu"}]}},
        "spec.resources.claims[0].name: 'gpu' is not a name in spec.extraPodSpec.resourceClaims",
    ),
    "claim without a name": (
        main(resources={"claims": [{"name": ""}]}),
        "spec.extraPodSpec.mainContainer.resources.claims[0].name",
    ),
    "resource that is none": (
        {"resources": {"limits": {"gpu": "1", "gpuType": "gpu"}}},
        "spec.resources.limits.gpuType: is 'gpu', must be cpu, memory, ephemeral-storage",
    ),
    "huge pages alone": (
        main(resources={"limits": {"hugepages-2Mi": "4Mi"}}),
        "resources.limits[hugepages-2Mi]: huge pages need a request or limit of cpu or memory",
    ),
    "path of a mount that climbs": (
        pod(
            volumes=[{"name": "a", "emptyDir": {}}],
            mainContainer={"volumeMounts": [{"name": "a", "mountPath": "/a", "subPath": "../b"}]},
        ),
        "mainContainer.volumeMounts[0].subPath: is '../b', must be a relative path without '..'",
    ),
    "probe of an init container": (
        pod(initContainers=[{"name": "a", "image": "i", "livenessProbe": {"tcpSocket": {"port": 1}}}]),
        "livenessProbe: is allowed only if spec.extraPodSpec.initContainers[0].restartPolicy is Always",
    ),
    "user below zero": (
        main(securityContext={"runAsUser": -1}),
        "mainContainer.securityContext.runAsUser: is -1, must be from 0 to 2147483647",
    ),
    "profile without a file": (
        main(securityContext={"seccompProfile": {"type": "Localhost"}}),
        "seccompProfile.localhostProfile: is required, because",
    ),
    "name server": (
        pod(dnsConfig={"nameservers": ["dns.example.com"]}),
        "spec.extraPodSpec.dnsConfig.nameservers[0]: is 'dns.example.com', must be an IP address",
    ),
    "deadline": (pod(activeDeadlineSeconds=60), "spec.extraPodSpec.activeDeadlineSeconds: must be absent"),
    "class of an ingress": (
        {"ingress": {"enabled": True, "host": "h", "ingressControllerClassName": "Nginx"}},
        "spec.ingress.ingressControllerClassName: 'Nginx' is not the name of an ingress class",
    ),
    "cost of a deletion": (
        {"extraPodMetadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "high"}}},
        "annotations[controller.kubernetes.io/pod-deletion-cost]: 'high' is not a whole number of 32 bits",
    ),
}

ACCEPTED: dict[str, dict[str, Any]] = {
    "empty label": {"labels": {"a": ""}},
    "pause as long as the pod may take to end": main(lifecycle={"preStop": {"sleep": {"seconds": 60}}}),
    "domain before a label's key": {"labels": {"example.com/A_b": "1.0"}},
    "labels that operators set": {
        "extraPodMetadata": {"labels": {"nvidia.com/dynamo-namespace": "a b"}},
        "labels": {"controller-uid": "a b"},
    },
    "capitals before the slash of an annotation's key": {"annotations": {"Example.com/a": "any text"}},
    "ingress that is off": {"ingress": {"enabled": False, "labels": {"a": "-"}}},
    "strange names of variables": {"envs": [{"name": name, "value": "1"} for name in ("1A", "a/b", " ", "{x}", "..")]},
    "empty value beside a source": {"envs": [{"name": "A", "value": "", "valueFrom": FIELD}]},
    "variable whose better one is right": {
        **main(env=[{"name": "A", "value": "1", "valueFrom": FIELD}]),
        "envs": [{"name": "A", "value": "1"}],
    },
    "last port": main(ports=[{"containerPort": 65535, "hostPort": 0, "name": "a-1"}, {"containerPort": 1, "name": ""}]),
    "request at the limit": {"resources": {"requests": {"cpu": "1000m"}, "limits": {"cpu": "1"}}},
    "GPUs as a quantity": {"resources": {"limits": {"gpu": "1000m"}}},
    "part of a resource of Kubernetes itself": {
        "resources": {
            "requests": {"custom": {"x.kubernetes.io/y": "500m"}},
            "limits": {"custom": {"x.kubernetes.io/y": "1"}},
        }
    },
    "main container's limit that the spec raises": {
        **main(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        "resources": {"limits": {"cpu": "2"}},
    },
    "pods that run for ever": pod(restartPolicy="Always"),
    "mount of a claim": {
        **mounts({"name": "a.b", "mountPoint": "/a"}),
        **main(volumeMounts=[{"name": "a-b-2e7336dc", "mountPath": "/b"}]),
    },
    "mounts of shared memory": pod(
        mainContainer={"volumeMounts": [{"name": "mine", "mountPath": "/dev/shm"}]},
        containers=[{"name": "a", "image": "i", "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}]}],
    ),
    "mount of an endpoint picker's configuration": {
        "componentType": "epp",
        "eppConfig": {"configMapRef": {"name": "a"}},
        **main(volumeMounts=[{"name": "epp-config", "mountPath": "/b"}]),
    },
    "image of spaces": main(image=" "),
    "volume without a source": pod(volumes=[{"name": "a"}]),
    "former name of a node's name": {"envs": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}}]},
    "label of the pod": {
        "envs": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['example.com/a']"}}}]
    },
    "toleration of everything": pod(tolerations=[{"operator": "Exists"}]),
    "preference for a value that no label has": pod(
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]},
                    }
                ]
            }
        }
    ),
    "claim of the pod": {
        **pod(resourceClaims=[{"name": "a", "resourceClaimName": "b"}]),
        "resources": {"claims": [{"name": "a"}]},
    },
    "sidecar with a probe": pod(
        initContainers=[
            {"name": "a", "image": "i", "restartPolicy": "Always", "livenessProbe": {"tcpSocket": {"port": 1}}}
        ]
    ),
    "numbers of our probe": {
        "componentType": "worker",
        **main(livenessProbe={"periodSeconds": 9, "successThreshold": 0}),
    },
}
"""What the API server accepts, or our pod makes right."""
