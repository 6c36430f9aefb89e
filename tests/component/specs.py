"""Generated component specs: of right types and mostly right values, or with anything anywhere."""

from typing import Any

from hypothesis import strategies as st

Anything = st.SearchStrategy[Any]

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
GOOD_NAME = st.from_regex(r"[a-z]([-a-z0-9]{0,12}[a-z0-9])?", fullmatch=True)
GOOD_QUANTITY = st.sampled_from(["1", "1000m", "0.5", "2048Mi", "1e3", "0", "1.5Gi"])
LABELS = st.dictionaries(st.sampled_from(["a", "nvidia.com/selector", "controller-uid"]), GOOD_NAME, max_size=2)
ANNOTATIONS = st.dictionaries(
    st.sampled_from(["nvidia.com/dynamo-discovery-backend", "nvidia.com/deployment-strategy", "a"]),
    st.sampled_from(["etcd", "Recreate", "kubernetes", ""]),
    max_size=2,
)
LEAF = st.one_of(st.none(), st.booleans(), st.integers(-5, 99999), st.floats(allow_nan=False), TEXT)
JSON = st.recursive(
    LEAF,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
COMPONENT_NAME = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]{1,40})?", fullmatch=True)


class Shapes:
    """Makes the shapes; with `wild` each field may hold any JSON, and names and quantities any text."""

    def __init__(self, *, wild: bool) -> None:
        self.wild = wild
        self.name: Anything = st.one_of(GOOD_NAME, TEXT) if wild else GOOD_NAME
        self.quantity: Anything = st.one_of(GOOD_QUANTITY, st.floats(0, 9), TEXT) if wild else GOOD_QUANTITY

    def object(self, **fields: Anything) -> Anything:
        """An object with any of these fields."""
        given = {key: st.one_of(field, field, JSON) if self.wild else field for key, field in fields.items()}
        return st.fixed_dictionaries({}, optional=given)

    def named(self, **fields: Anything) -> Anything:
        """A list of objects that have a name, each another."""
        one = st.builds(lambda name, rest: {**rest, "name": name}, self.name, self.object(**fields))
        return st.lists(one, max_size=2, unique_by=lambda item: str(item["name"]))

    def env(self) -> Anything:
        names = st.sampled_from(["A", "B", "DYN_NAMESPACE", "POD_NAME"])
        values = st.sampled_from(["$(A)$(B)", "$(A)x", "", "$$(B)", "$", "plain"])
        return st.lists(st.fixed_dictionaries({"name": names}, optional={"value": values}), max_size=4)

    def probe(self) -> Anything:
        port = st.one_of(st.integers(1, 9), st.sampled_from(["80", "http"]))
        get = self.object(path=TEXT, port=port)
        return st.builds(
            lambda rest, handler: {**rest, "httpGet": handler},
            self.object(periodSeconds=st.integers(0, 9), failureThreshold=st.sampled_from([0, 3.0])),
            get,
        )

    def container_fields(self) -> dict[str, Anything]:
        return {
            "image": st.sampled_from(["busybox", "nvcr.io/x/y", "nvcr.io/x/y:1.6.1", ""]),
            "command": st.sampled_from([["python3", "-m", "dynamo.vllm"], ["sh"], []]),
            "args": st.lists(TEXT, max_size=3),
            "env": self.env(),
            "envFrom": st.lists(self.object(secretRef=self.object(name=self.name)), max_size=2),
            "ports": self.named(containerPort=st.integers(1, 9)),
            "resources": self.object(
                limits=st.dictionaries(st.sampled_from(["cpu", "memory"]), self.quantity, max_size=2),
                claims=self.named(),
            ),
            "volumeMounts": st.sampled_from([[], [{"name": "v", "mountPath": "/dev/shm", "readOnly": False}]]),
            "livenessProbe": self.probe(),
            "startupProbe": self.probe(),
            "tty": st.booleans(),
        }

    def pod(self) -> Anything:
        return self.object(
            mainContainer=self.object(**self.container_fields()),
            containers=self.named(**self.container_fields()),
            volumes=self.named(emptyDir=self.object(sizeLimit=self.quantity)),
            imagePullSecrets=self.named(),
            securityContext=self.object(fsGroup=st.integers(0, 9)),
            terminationGracePeriodSeconds=st.integers(0, 9),
            serviceAccountName=self.name,
            nodeSelector=st.dictionaries(TEXT, TEXT, max_size=2),
            hostNetwork=st.booleans(),
        )

    def spec(self) -> Anything:
        return self.object(
            componentType=st.sampled_from(["frontend", "worker", "prefill", "decode", "planner", "", "other"]),
            serviceName=self.name,
            subComponentType=self.name,
            replicas=st.integers(-1 if self.wild else 0, 3),
            labels=LABELS,
            annotations=ANNOTATIONS,
            extraPodMetadata=self.object(labels=LABELS, annotations=LABELS),
            extraPodSpec=self.pod(),
            envs=self.env(),
            envFromSecret=self.name,
            resources=self.object(
                limits=self.object(cpu=self.quantity, gpu=st.just("1"), gpuType=st.just("amd.com/gpu")),
                requests=self.object(memory=self.quantity),
            ),
            volumeMounts=self.named(mountPoint=st.sampled_from(["/a", "/b"]), useAsCompilationCache=st.booleans()),
            sharedMemory=self.object(disabled=st.booleans(), size=self.quantity),
            ingress=st.builds(
                lambda rest, host: {**rest, "host": host},
                self.object(
                    enabled=st.booleans(),
                    ingressControllerClassName=st.just("nginx"),
                    tls=self.object(secretName=self.name),
                ),
                self.name,
            ),
            modelRef=st.fixed_dictionaries({"name": TEXT}),
            readinessProbe=self.probe(),
            multinode=st.fixed_dictionaries({"nodeCount": st.integers(0, 2) if self.wild else st.just(1)}),
            frontendSidecar=self.object(
                image=st.sampled_from(["f:1.6.0", "f", ""]),
                args=st.lists(TEXT, max_size=2),
                envs=self.env(),
                envFromSecret=self.name,
            ),
            runtimeVersionOverride=st.sampled_from(
                ["", "0.9.1", "1.6.0", "1.6"] if self.wild else ["", "0.9.1", "1.6.0"]
            ),
            gpuMemoryService=self.object(enabled=st.just(self.wild), mode=st.just("intraPod")),
            roles=st.lists(self.object(name=st.sampled_from(["leader", "worker"]), replicas=st.just(1)), max_size=2),
            providerOverride=self.object(value=self.object()),
            eppConfig=self.object(configMapRef=self.object(name=self.name, key=self.name)),
        )


TIDY_SPEC = Shapes(wild=False).spec()
WILD_SPEC = Shapes(wild=True).spec()
ANY_SPEC = st.one_of(TIDY_SPEC, TIDY_SPEC, WILD_SPEC)
