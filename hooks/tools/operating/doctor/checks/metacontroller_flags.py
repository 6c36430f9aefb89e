"""Metacontroller's flags: whether they hold with many graphs, and fit the hooks.

Source: Metacontroller, pkg/cmd/metacontroller/main.go.
"""

import json
import re
from collections.abc import Mapping, Sequence

from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import ReadManifest, annotations_of, gvk_of, labels_of, plural_of
from hooks.tools.operating.doctor.facts import (
    InstallationFacts,
    containers_of,
    metacontroller_container,
    parent_rules,
    words_of,
)
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.tools.operating.doctor.remedies import GOOD_FLAGS

DEFAULTS = {"client-go-qps": "5", "client-go-burst": "10", "workers": "5", "discovery-interval": "30s"}
_EFFECTS = {
    "client-go-qps": "Metacontroller sends so few requests a second that many graphs wait for each other",
    "client-go-burst": "after a start all graphs wait",
    "workers": "so few parents of a kind are synced at the same time",
    "discovery-interval": "new kinds are noticed late",
}
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def check_flags(facts: InstallationFacts) -> list[Finding]:
    """Whether Metacontroller's flags hold with many graphs, and fit the hooks."""
    return [finding for found in facts.metacontrollers for finding in _judge_flags(found, facts)]


def read_flags(words: Sequence[str]) -> dict[str, str]:
    """Name to value of the flags of a command line; a flag without a value is `true`."""
    flags: dict[str, str] = {}
    for word, following in zip(words, [*words, ""][1:], strict=True):
        match = re.fullmatch(r"--?([A-Za-z][A-Za-z0-9-]*)(=(.*))?", word, re.DOTALL)
        if match is not None:
            is_pair = match[2] is None and following and not following.startswith("-")
            flags[match[1]] = following if is_pair else ("true" if match[2] is None else match[3])
    return flags


def _judge_flags(found: ReadManifest, facts: InstallationFacts) -> list[Finding]:
    flags = read_flags(words_of(metacontroller_container(found) or {}))
    low = [name for name in GOOD_FLAGS if _is_worse(name, flags)]
    values = {name: flags.get(name, DEFAULTS[name]) for name in GOOD_FLAGS}
    findings = [
        *_judge_apply_strategy(found, flags),
        *_judge_selector(found, flags, facts),
        *_judge_leaders(found, flags),
    ]
    if low:
        remedy = _set_flags(found, {name: GOOD_FLAGS[name] for name in low})
        findings.append(_judge_low(found, {name: values[name] for name in low}, facts, remedy))
    if not findings:
        findings.append(ok(describe(found), ", ".join(f"{name} {value}" for name, value in values.items())))
    return findings


def _judge_low(found: ReadManifest, low: Mapping[str, str], facts: InstallationFacts, remedy: str) -> Finding:
    words = "; ".join(
        f"--{name} is {value}, should be {GOOD_FLAGS[name]}: {_EFFECTS[name]}" for name, value in low.items()
    )
    needed = _resyncs_per_second(facts)
    allowed = _number("client-go-qps", low.get("client-go-qps", GOOD_FLAGS["client-go-qps"]))
    if 2 * needed > allowed:
        text = f"{words}. The resyncs of {len(facts.parents)} objects alone need {needed:.1f} requests a second"
        return error(describe(found), text, remedy)
    return warning(describe(found), words, remedy)


def _judge_apply_strategy(found: ReadManifest, flags: Mapping[str, str]) -> list[Finding]:
    strategy = flags.get("apply-strategy", "dynamic-apply")
    if strategy == "dynamic-apply":
        return []
    text = f"--apply-strategy is {strategy}; the hooks keep what runs by the annotation that only dynamic-apply writes"
    return [error(describe(found), text, _set_flags(found, {"apply-strategy": "dynamic-apply"}))]


def _judge_selector(found: ReadManifest, flags: Mapping[str, str], facts: InstallationFacts) -> list[Finding]:
    """Whether Metacontroller's selector of controllers leaves out one of ours; only equalities are understood."""
    selector = flags.get("target-label-selector", "")
    wanted = dict(pair.partition("=")[::2] for pair in selector.replace("==", "=").split(",") if "=" in pair)
    left_out = [c for c in facts.own_controllers if any(labels_of(c).get(k) != v for k, v in wanted.items())]
    if not wanted or not left_out or len(facts.metacontrollers) > 1:
        return []
    names = ", ".join(str(controller["metadata"]["name"]) for controller in left_out)
    text = f"--target-label-selector={selector} leaves out the controllers {names}"
    labels = " ".join(f"{key}={value}" for key, value in wanted.items())
    kinds = sorted({str(controller["kind"]).lower() for controller in left_out})
    by_kind = {kind: [c["metadata"]["name"] for c in left_out if c["kind"].lower() == kind] for kind in kinds}
    remedy = "; ".join(f"kubectl label {kind} {' '.join(named)} {labels}" for kind, named in by_kind.items())
    return [error(describe(found), text, remedy)]


def _judge_leaders(found: ReadManifest, flags: Mapping[str, str]) -> list[Finding]:
    if wanted_replicas(found) < 2 or flags.get("leader-election", "false") == "true":
        return []
    text = f"it has {wanted_replicas(found)} replicas without --leader-election, so all of them act on the same objects"
    return [error(describe(found), text, _set_flags(found, {"leader-election": "true"}))]


def _resyncs_per_second(facts: InstallationFacts) -> float:
    """Requests that the periodic syncs need: one for each parent in each period."""
    periods: dict[str, float] = {}
    for controller in facts.own_controllers:
        for rule in parent_rules(controller):
            seconds = controller["spec"].get("resyncPeriodSeconds") or 0
            if seconds:
                periods[str(rule["resource"])] = float(seconds)
    plurals = [plural_of(gvk_of(parent)) for parent in facts.parents]
    return sum(1 / periods[plural] for plural in plurals if plural in periods)


def _is_worse(name: str, flags: Mapping[str, str]) -> bool:
    value, good = _number(name, flags.get(name, DEFAULTS[name])), _number(name, GOOD_FLAGS[name])
    if name == "discovery-interval":
        return value > _number(name, DEFAULTS[name])
    return value < good


def _number(name: str, value: str) -> float:
    """The value of a flag; a duration in seconds. One that cannot be read counts as Metacontroller's default."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)?", value)
    if not parts:
        return _number(name, DEFAULTS[name])
    return sum(float(number) * _UNITS.get(unit, 1.0) for number, unit in parts)


def _set_flags(found: ReadManifest, wanted: Mapping[str, str]) -> str:
    """The command that sets flags of Metacontroller; flags that it has keep their place."""
    containers = containers_of(found)
    container = metacontroller_container(found) or {}
    where = "args" if container.get("args") or not container.get("command") else "command"
    value = [*_without(container.get(where) or (), wanted), *(f"--{name}={flag}" for name, flag in wanted.items())]
    path = f"/spec/template/spec/containers/{containers.index(container)}/{where}"
    patch = json.dumps([{"op": "add", "path": path, "value": value}])
    metadata = found["metadata"]
    command = f"kubectl --namespace {metadata['namespace']} patch {found['kind'].lower()} {metadata['name']}"
    release = annotations_of(found).get("meta.helm.sh/release-name")
    also = f"  # and in commandArgs of the values of Helm's release {release}" if release else ""
    return f"{command} --type=json --patch '{patch}'{also}"


def _without(words: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """The words without these flags, and without their values where a value is a word of its own."""
    kept: list[str] = []
    skips = False
    for word, following in zip(words, [*words, ""][1:], strict=True):
        is_flag = not read_flags([word]).keys().isdisjoint(names)
        if not is_flag and not skips:
            kept = [*kept, word]
        skips = is_flag and "=" not in word and bool(following) and not following.startswith("-")
    return kept
