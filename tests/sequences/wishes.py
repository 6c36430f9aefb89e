"""What users write: the graphs that sequences begin with, and the edits made to them.

An edit takes a graph, changes its copy in place and says what it did; an empty text means that it does not apply.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hooks.graph.report.status import GraphReason
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest

Edit = Callable[[Random, Manifest], str]
GRAPH = "g"
MAX_REPLICAS = 3
EXTRA_SERVICES = ("Prefill", "Router")


@dataclass(frozen=True, kw_only=True)
class Road:
    """A way from graph to pods: what is installed and set, the services at the beginning, and edits that only it has.

    `edits` keep a spec valid, `breaks` make it one that cannot be rendered. `has_generations`: releases
    are such that workers can have one. `begins_before`: the first hooks know none, and no origin. `slow` are globs of
    pods that take long to start, instead of pods that fail.
    """

    name: str
    installed: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, Any]
    edits: Mapping[str, Edit] = field(default_factory=dict)
    breaks: Mapping[str, Edit] = field(default_factory=dict)
    has_generations: bool = False
    begins_before: bool = False
    slow: tuple[str, ...] = ()


def service(component_type: str = "worker", replicas: int = 1, nodes: int = 1) -> dict[str, Any]:
    main = {"image": "img:0", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--tensor-parallel-size", "2"]}
    found: dict[str, Any] = {"componentType": component_type, "replicas": replicas}
    if component_type == "frontend":
        return {**found, "extraPodSpec": {"mainContainer": {"image": "img:0"}}}
    found |= {"resources": {"limits": {"gpu": "1"}}, "extraPodSpec": {"mainContainer": main}}
    return {**found, "multinode": {"nodeCount": nodes}} if nodes > 1 else found


def graph(services: Mapping[str, Any]) -> Manifest:
    return {
        "apiVersion": contract.GRAPH.api_version,
        "kind": contract.GRAPH.kind,
        "metadata": {"name": GRAPH, "namespace": "default"},
        "spec": {"services": dict(services)},
    }


def change_image(rng: Random, found: Manifest) -> str:
    name = _pick(rng, found)
    image = f"img:{rng.randrange(100)}"
    found["spec"]["services"][name]["extraPodSpec"]["mainContainer"]["image"] = image
    return f"{name}: image {image}"


SEEING = ("1.0.2", "1.5.1", "1.6.1", "1.6.2")
"""Releases whose frontends see workers of a generation."""
BLIND = ("1.0.1", "mine")


def change_release(rng: Random, found: Manifest) -> str:
    """Give a service an image of another release, or of none; most of them know generations."""
    return _change_tag(rng, found, (*SEEING, *SEEING, *BLIND))


def change_seeing_release(rng: Random, found: Manifest) -> str:
    return _change_tag(rng, found, SEEING)


def mistype_tag(rng: Random, found: Manifest) -> str:
    """Give a service a tag that names no release, where all others do."""
    return _change_tag(rng, found, ("1.6.l", "bad"))


def change_release_of_all(rng: Random, found: Manifest) -> str:
    """Give all services an image of one release, as people do who upgrade."""
    tag = rng.choice((*SEEING, *BLIND))
    for spec in found["spec"]["services"].values():
        spec["extraPodSpec"]["mainContainer"]["image"] = f"r/img:{tag}"
    return f"all: release {tag}"


def _change_tag(rng: Random, found: Manifest, tags: tuple[str, ...]) -> str:
    name, tag = _pick(rng, found), rng.choice(tags)
    found["spec"]["services"][name]["extraPodSpec"]["mainContainer"]["image"] = f"r/img:{tag}"
    return f"{name}: release {tag}"


def change_suffix(rng: Random, found: Manifest) -> str:
    """Set the generation of a worker by hand, or no longer."""
    spec = found["spec"]["services"]["Worker"]
    kept = [entry for entry in spec.get("envs", ()) if entry["name"] != contract.WORKER_SUFFIX]
    is_set = len(kept) < len(spec.get("envs", ()))
    spec["envs"] = kept if is_set else [*kept, {"name": contract.WORKER_SUFFIX, "value": rng.choice(["blue", "green"])}]
    return f"Worker: generation by hand {'no longer' if is_set else spec['envs'][-1]['value']}"


def change_env(rng: Random, found: Manifest) -> str:
    name = _pick(rng, found)
    return f"{name}: {_change_env(rng, found['spec']['services'][name])}"


def change_env_of_all(rng: Random, found: Manifest) -> str:
    return f"all services: {_change_env(rng, found['spec'])}"


def _change_env(rng: Random, holder: dict[str, Any]) -> str:
    """Set or remove one of three variables."""
    key, value = f"USER_{rng.randrange(3)}", str(rng.randrange(10))
    kept = [entry for entry in holder.get("envs", ()) if entry["name"] != key]
    if len(kept) < len(holder.get("envs", ())) and rng.random() < 0.5:
        holder["envs"] = kept
        return f"without {key}"
    holder["envs"] = [*kept, {"name": key, "value": value}]
    return f"{key}={value}"


def change_replicas(rng: Random, found: Manifest) -> str:
    name = _pick(rng, found)
    found["spec"]["services"][name]["replicas"] = rng.randint(0, MAX_REPLICAS)
    return f"{name}: replicas {found['spec']['services'][name]['replicas']}"


def switch_adapter(rng: Random, found: Manifest) -> str:
    """Enable a service's adapter or disable it; who disables one that perhaps never existed says how many replicas.

    Without that nobody asks for any: Grove would go on with those of before the adapter.
    """
    name = _pick(rng, found)
    spec = found["spec"]["services"][name]
    is_on = (spec.get("scalingAdapter") or {}).get("enabled", False)
    spec["scalingAdapter"] = {"enabled": not is_on}
    if not is_on and rng.random() < 0.5:
        spec.pop("replicas", None)
    elif is_on and not _was_rendered(found):
        spec.setdefault("replicas", 1)
    return f"{name}: adapter {'off' if is_on else 'on'}"


def _was_rendered(found: Manifest) -> bool:
    """Whether the hooks have answered this version of the graph with the children that it asks for."""
    status = found.get("status") or {}
    ready = next((c["reason"] for c in status.get("conditions", ()) if c["type"] == "Ready"), "")
    is_current = status.get("observedGeneration") == found["metadata"].get("generation")
    return is_current and ready in {GraphReason.ALL_READY, GraphReason.SOME_NOT_READY}


def change_strategy(rng: Random, found: Manifest) -> str:
    name = _pick(rng, found)
    value = rng.choice(["0", "1", "50%"])
    annotations = found["spec"]["services"][name].setdefault("annotations", {})
    annotations[contract.ANNOTATION_MAX_UNAVAILABLE] = value
    return f"{name}: {value} may be unavailable"


def add_service(rng: Random, found: Manifest) -> str:
    missing = [name for name in EXTRA_SERVICES if name not in found["spec"]["services"]]
    if not missing:
        return ""
    name = rng.choice(missing)
    found["spec"]["services"][name] = service(replicas=rng.randint(1, 2))
    _order_of_restart(found).append(name)
    return f"with {name}"


def remove_service(rng: Random, found: Manifest) -> str:
    there = [name for name in EXTRA_SERVICES if name in found["spec"]["services"]]
    if not there:
        return ""
    name = rng.choice(there)
    del found["spec"]["services"][name]
    order = _order_of_restart(found)
    order[:] = [service for service in order if service != name]
    return f"without {name}"


def _order_of_restart(found: Manifest) -> list[str]:
    """The list itself, which names every service; one that nobody reads where there is none."""
    order: list[str] = ((found["spec"].get("restart") or {}).get("strategy") or {}).get("order", [])
    return order


def change_claims(rng: Random, found: Manifest) -> str:
    if found["spec"].get("pvcs"):
        del found["spec"]["pvcs"]
        return "without claims"
    claim = {
        "name": "cache",
        "create": True,
        "storageClass": "fast",
        "size": "1Gi",
        "volumeAccessMode": "ReadWriteOnce",
    }
    found["spec"]["pvcs"] = [claim]
    return "with a claim"


def change_nodes(rng: Random, found: Manifest) -> str:
    nodes = rng.choice([1, 2, 3])
    spec = found["spec"]["services"]["Worker"]
    spec.pop("multinode", None)
    if nodes > 1:
        spec["multinode"] = {"nodeCount": nodes}
    return f"Worker: {nodes} nodes"


def switch_grove(rng: Random, found: Manifest) -> str:
    annotations = found["metadata"].setdefault("annotations", {})
    wanted = rng.choice(["true", "false", ""])
    if not wanted:
        annotations.pop(contract.ANNOTATION_ENABLE_GROVE, None)
        return "Grove as it is"
    annotations[contract.ANNOTATION_ENABLE_GROVE] = wanted
    return f"Grove {'on' if wanted == 'true' else 'off'}"


def pause_rollout(_rng: Random, found: Manifest) -> str:
    """Pause the rollout of the workers, or let it go on."""
    is_on = _steer(found, contract.ANNOTATION_ROLLOUT_PAUSED, "true")
    return "paused" if is_on else "goes on"


def try_on_part(rng: Random, found: Manifest) -> str:
    """Try the next generation on a part of the sets, or on all."""
    canary = rng.choice(["1", "2", "50%"])
    is_on = _steer(found, contract.ANNOTATION_ROLLOUT_CANARY, canary)
    return f"canary {canary}" if is_on else "no canary"


def _steer(found: Manifest, name: str, value: str) -> bool:
    """Write an annotation that is not there, or take it away; whether it is there now."""
    annotations = found["metadata"].setdefault("annotations", {})
    if annotations.pop(name, None) is None:
        annotations[name] = value
    return name in annotations


def restart(rng: Random, found: Manifest) -> str:
    """Ask for a restart under an id that is new, as generations are."""
    services = sorted(found["spec"]["services"])
    rng.shuffle(services)
    strategy = rng.choice([None, {"type": "Parallel"}, {"type": "Sequential", "order": services}])
    wanted = f"r{found['metadata']['generation']}"
    found["spec"]["restart"] = {"id": wanted, **({"strategy": strategy} if strategy else {})}
    return f"{wanted}, {strategy or 'in the usual order'}"


def forget_restart(_rng: Random, found: Manifest) -> str:
    return "" if found["spec"].pop("restart", None) is None else "no restart asked for any more"


def repeat_restart(_rng: Random, found: Manifest) -> str:
    """Ask for the restart that was observed last, which is no new one."""
    wanted = ((found.get("status") or {}).get("restart") or {}).get("observedID")
    if not wanted or found["spec"].get("restart"):
        return ""
    found["spec"]["restart"] = {"id": wanted}
    return f"{wanted} once more"


def break_strategy(rng: Random, found: Manifest) -> str:
    name = _pick(rng, found)
    annotations = found["spec"]["services"][name].setdefault("annotations", {})
    annotations[contract.ANNOTATION_MAX_UNAVAILABLE] = "lots"
    return f"{name}: lots may be unavailable"


def break_names(rng: Random, found: Manifest) -> str:
    name = _pick(rng, found)
    found["spec"]["services"][name.upper()] = service(replicas=1)
    return f"{name.upper()} beside {name}"


def break_mount(rng: Random, found: Manifest) -> str:
    name = _pick(rng, found)
    found["spec"]["services"][name]["volumeMounts"] = [{"name": "Not_A_Name", "mountPoint": "/m"}]
    return f"{name}: a mount of Not_A_Name"


def break_cliques(rng: Random, found: Manifest) -> str:
    """Ask for another clique of a PodCliqueSet that exists; an effect of the graph's age, so only once it was Ready."""
    ready = [c["status"] for c in found.get("status", {}).get("conditions", ()) if c["type"] == "Ready"]
    return add_service(rng, found) if ready == ["True"] else ""


def _pick(rng: Random, found: Manifest) -> str:
    services: dict[str, Any] = found["spec"]["services"]
    return rng.choice(sorted(services))


EDITS: Mapping[str, Edit] = {
    "image": change_image,
    "env": change_env,
    "env of all": change_env_of_all,
    "replicas": change_replicas,
    "adapter": switch_adapter,
    "strategy": change_strategy,
    "claims": change_claims,
    "restart": restart,
    "no restart": forget_restart,
    "same restart": repeat_restart,
}
BREAKS: Mapping[str, Edit] = {"strategy": break_strategy, "names": break_names, "mount": break_mount}
_STEERING: Mapping[str, Edit] = {"pause": pause_rollout, "canary": try_on_part}
_SERVICES: Mapping[str, Edit] = {"add service": add_service, "remove service": remove_service}
_RELEASES: Mapping[str, Edit] = {
    **{name: edit for name, edit in EDITS.items() if name != "image"},
    "release": change_release,
    "release of all": change_release_of_all,
    "generation": change_suffix,
}


def _released(services: Mapping[str, Any]) -> dict[str, Any]:
    """The services with images of a release that knows generations of workers."""
    for spec in services.values():
        spec["extraPodSpec"]["mainContainer"]["image"] = "r/img:1.6.1"
    return dict(services)


ROADS: Mapping[str, Road] = {
    road.name: road
    for road in (
        Road(
            name="components",
            services={"Frontend": service("frontend"), "Worker": service(replicas=2)},
            edits={**EDITS, **_SERVICES},
            breaks=BREAKS,
        ),
        Road(
            name="lws",
            installed=frozenset({"lws", "volcano"}),
            services={"Frontend": service("frontend"), "Worker": service(nodes=2)},
            edits={**EDITS, **_SERVICES, "nodes": change_nodes},
            breaks=BREAKS,
        ),
        Road(
            name="gangs",
            installed=frozenset({"lws", "volcano"}),
            settings={"lws_gangs": "on"},
            services={"Frontend": service("frontend"), "Worker": service(nodes=2, replicas=2)},
            edits={**EDITS, **_SERVICES, "nodes": change_nodes},
            breaks=BREAKS,
        ),
        Road(
            name="grove",
            installed=frozenset({"grove"}),
            services={"Frontend": service("frontend"), "Worker": service(nodes=2)},
            edits={**EDITS},
            breaks={**BREAKS, "cliques": break_cliques},
        ),
        Road(
            name="generations",
            services=_released({"Frontend": service("frontend"), "Worker": service(replicas=2), "Prefill": service()}),
            edits={**_RELEASES, **_SERVICES},
            breaks=BREAKS,
            has_generations=True,
            begins_before=True,
        ),
        Road(
            name="sets",
            services=_released(
                {"Frontend": service("frontend"), "Decode": service("decode", 3), "Prefill": service("prefill", 2)}
            ),
            edits={
                **{name: EDITS[name] for name in ("env", "env of all", "replicas", "strategy", "restart")},
                "release": change_seeing_release,
                **_STEERING,
                **_SERVICES,
            },
            breaks=BREAKS,
            has_generations=True,
            slow=("*-decode-*", "*-prefill-*"),
        ),
        Road(
            name="sets-back",
            settings={"effect_go_back": "on", "rollout_stalled_after": "6"},
            services=_released(
                {"Frontend": service("frontend"), "Decode": service("decode", 2), "Prefill": service("prefill", 2)}
            ),
            edits={
                **{name: EDITS[name] for name in ("env", "env of all", "replicas")},
                "release": change_seeing_release,
                "typo": mistype_tag,
                **_STEERING,
            },
            breaks=BREAKS,
            has_generations=True,
            slow=("*-decode-*", "*-prefill-*"),
        ),
        Road(
            name="sets-lws",
            installed=frozenset({"lws", "volcano"}),
            services=_released(
                {"Frontend": service("frontend"), "Decode": service("decode", 2, 2), "Prefill": service("prefill", 2)}
            ),
            edits={
                **{name: EDITS[name] for name in ("env", "env of all", "replicas")},
                "release": change_seeing_release,
                "typo": mistype_tag,
                **_STEERING,
            },
            breaks=BREAKS,
            has_generations=True,
            slow=("*-decode-*", "*-prefill-*"),
        ),
        Road(
            name="generations-lws",
            installed=frozenset({"lws", "volcano"}),
            services=_released({"Frontend": service("frontend", replicas=2), "Worker": service(nodes=2)}),
            edits={**_RELEASES, **_SERVICES, "nodes": change_nodes},
            breaks=BREAKS,
            has_generations=True,
            begins_before=True,
        ),
        Road(
            name="generations-grove",
            installed=frozenset({"grove"}),
            services=_released({"Frontend": service("frontend"), "Worker": service(nodes=2), "Prefill": service()}),
            edits={
                **{name: edit for name, edit in _RELEASES.items() if not name.startswith("release")},
                "release": change_seeing_release,
                "typo": mistype_tag,
            },
            breaks=BREAKS,
            has_generations=True,
            begins_before=True,
        ),
        Road(
            name="switching",
            installed=frozenset({"grove"}),
            services={"Frontend": service("frontend"), "Worker": service()},
            edits={**EDITS, "grove": switch_grove},
            breaks=BREAKS,
        ),
    )
}
