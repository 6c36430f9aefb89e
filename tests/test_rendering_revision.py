"""The revision of the rendering is raised whenever the golden corpus gets other pod templates or components.

`tests/golden/pod_templates.json` has the digests of all workloads of the corpus, one digest for each release of Dynamo
(`tests/release_corpus.py`), and the revision that they belong to. `pytest --update-golden` rewrites it, but not for
workloads that changed under the same revision.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.component.image.runtime_version import RuntimeVersion, parse_version
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import Manifest, gvk_of, name_of
from hooks.server.app import create_app
from hooks.wire.policy.new_defaults import MARKED, rolling_part
from hooks.wire.policy.rendering_mark import RENDERING_REVISION
from tests import make
from tests.release_corpus import (
    Case,
    digest_of_inputs,
    digest_of_pods,
    find_thresholds,
    list_cases,
    list_releases,
    modules_with,
    render,
)
from tests.releases import read_restart_notes
from tests.test_golden import (
    CALLS,
    EXAMPLES,
    GOLDEN,
    MULTINODE,
    ORCHESTRATORS,
    ROOT,
    SETTINGS,
    SEVERAL_NODES,
    golden_of,
    name_of_call,
    post,
    render_example,
)

STORED = GOLDEN / "pod_templates.json"
NOW = SETTINGS.model_copy(update={"new_defaults": "now"})
"""Held workloads are not rendered."""

Corpus = Mapping[str, Mapping[str, Any]]
"""By input its digest (`input`) and the digests of its workloads (`workloads`) by kind and name."""


def read_corpus() -> Corpus:
    """What the present code makes of the corpus."""
    return {name: describe(text, children) for name, text, children in _answers()}


def describe(text: str, children: Iterable[Manifest]) -> Mapping[str, Any]:
    found = {
        f"{child['kind']}/{name_of(child)}": digest_of(rolling_part(child))
        for child in children
        if gvk_of(child) in MARKED
    }
    return {"input": short_hash(text), "workloads": dict(sorted(found.items()))}


def digest_of(value: Any) -> str:
    return short_hash(canonical_json(value))


def _answers() -> Iterator[tuple[str, str, Iterable[Manifest]]]:
    for path in EXAMPLES:
        if path not in MULTINODE:
            yield _name_of_golden(path), path.read_text(), render_example(path)
    for path, orchestrator in SEVERAL_NODES:
        children = render_example(path, ORCHESTRATORS[orchestrator])
        yield _name_of_golden(path, orchestrator), path.read_text(), children
    client = create_app(NOW, lambda: make.NOW).test_client()
    for call in (call for call in CALLS if call.parent.name == "sync"):
        text = (call / "request.yaml").read_text()
        yield (
            name_of_call(call),
            text,
            json.loads(post(client, call, yaml.load(text, yaml.CSafeLoader))).get("children", ()),
        )


def _name_of_golden(example: Path, orchestrator: str = "") -> str:
    return golden_of(example, orchestrator).relative_to(GOLDEN).as_posix()


def find_changed(stored: Corpus, found: Corpus) -> list[str]:
    """`<input>: <workload>` of all workloads that changed although their input did not."""
    return [
        f"{name}: {workload}"
        for name, before in sorted(stored.items())
        if name in found and found[name]["input"] == before["input"]
        for workload, digest in sorted(before["workloads"].items())
        if found[name]["workloads"].get(workload, digest) != digest
    ]


def read_releases(folder: Path) -> Mapping[str, Any]:
    """By release the digest of the workloads that the examples have with its images, and a digest of the examples."""
    releases = list_releases(find_thresholds())
    digests = {str(release): digest_of_pods(release, folder) for release in releases}
    return {"input": digest_of_inputs(), "digests": digests}


def find_changed_releases(stored: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """The releases at which workloads changed; one that is new had the workloads of the one before it."""
    if stored["input"] != found["input"]:
        return []
    known = {_number(release): digest for release, digest in stored["digests"].items()}
    return [
        f"examples with images of {release}"
        for release, digest in found["digests"].items()
        if digest != known[max(one for one in known if one <= _number(release))]
    ]


def _number(release: str) -> RuntimeVersion:
    number = parse_version(release)
    assert number is not None
    return number


def judge(changed: list[str], stored: int, present: int, notes: list[str]) -> str:
    """What is wrong with a change of the corpus; empty if nothing is."""
    if not changed:
        return ""
    listed = "\n".join(changed)
    if present <= stored:
        return (
            f"pod templates or components changed, but RENDERING_REVISION is still {present}: raise it in "
            "hooks/wire/policy/rendering_mark.py, add a line to CHANGELOG.md under '### Restarts pods', then run "
            "make golden. "
            f"These changed:\n{listed}"
        )
    if not notes:
        return f"CHANGELOG.md has no line under '### Restarts pods' about these changes:\n{listed}"
    return ""


def test_revision_is_raised_when_workloads_change(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    is_update, found, releases = (
        bool(request.config.getoption("--update-golden")),
        read_corpus(),
        read_releases(tmp_path),
    )
    present: dict[str, Any] = {"revision": RENDERING_REVISION, "corpus": found, "releases": releases}
    stored: dict[str, Any] = json.loads(STORED.read_text()) if STORED.exists() else present
    notes = read_restart_notes((ROOT / "CHANGELOG.md").read_text(), "")
    changed = find_changed(stored["corpus"], found) + find_changed_releases(stored.get("releases", releases), releases)
    fault = judge(changed, stored["revision"], RENDERING_REVISION, notes)
    assert not fault, fault
    if is_update:
        STORED.write_text(f"{json.dumps(present, indent=2, sort_keys=True)}\n")
    assert STORED.is_file(), f"{STORED.name} is missing; make golden writes it"
    assert json.loads(STORED.read_text()) == present, (
        f"{STORED.name} is of an older corpus; make golden writes it again"
    )


OLD: Corpus = {"a": {"input": "i", "workloads": {"Deployment/d": "1"}}}


@pytest.mark.parametrize(
    ("workloads", "text", "expected"),
    [
        ({"Deployment/d": "2"}, "i", ["a: Deployment/d"]),
        ({"Deployment/d": "2"}, "other", []),
        ({"Deployment/d": "1", "Deployment/new": "3"}, "i", []),
        ({}, "i", []),
    ],
    ids=["changed", "of a changed input", "new workload", "workload that is gone"],
)
def test_workload_changed_if_its_input_did_not(workloads: dict[str, str], text: str, expected: list[str]) -> None:
    assert find_changed(OLD, {"a": {"input": text, "workloads": workloads}}) == expected


@pytest.mark.parametrize(
    ("changed", "present", "notes", "beginning"),
    [
        ([], 1, [], ""),
        (["a: d"], 1, ["said"], "pod templates or components changed, but RENDERING_REVISION is still 1: raise it"),
        (["a: d"], 2, [], "CHANGELOG.md has no line under '### Restarts pods'"),
        (["a: d"], 2, ["said"], ""),
    ],
    ids=["nothing changed", "not raised", "not said", "raised and said"],
)
def test_change_needs_a_revision_and_a_line(changed: list[str], present: int, notes: list[str], beginning: str) -> None:
    fault = judge(changed, 1, present, notes)
    assert fault.startswith(beginning)
    assert bool(fault) is bool(beginning)


def test_digest_sees_a_changed_default(tmp_path: Path) -> None:
    example = tmp_path / "example.yaml"
    example.write_text((ROOT / "examples" / "vllm-agg.yaml").read_text())
    children = render_example(example)
    before, after = describe("", children), describe("", [_with_probe(child) for child in children])
    changed = find_changed({"a": before}, {"a": after})
    assert changed
    assert all(one.startswith("a: Deployment/") for one in changed)


def _with_probe(child: Manifest) -> Manifest:
    if child["kind"] != "Deployment":
        return child
    template = child["spec"]["template"]
    pod = {**template["spec"], "terminationGracePeriodSeconds": 61}
    return {**child, "spec": {**child["spec"], "template": {**template, "spec": pod}}}


# Releases


@pytest.mark.parametrize("name", find_thresholds())
def test_every_threshold_changes_what_is_rendered_or_said(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, never = find_thresholds()[name], RuntimeVersion(999, 0)

    def changes(case: Case) -> bool:
        usual = render(case, release, tmp_path)
        with monkeypatch.context() as patch:
            for module in modules_with(name):
                patch.setattr(sys.modules[module], name, never)
            return render(case, release, tmp_path) != usual

    assert any(map(changes, list_cases())), f"{name} changes nothing of the examples: add one to tests/golden/releases"


def test_nothing_is_chosen_by_a_release_that_no_threshold_names() -> None:
    digests = list(json.loads(STORED.read_text())["releases"]["digests"].values())
    assert digests[-1] == digests[-2], "a release is compared with a number that is no constant …_SINCE"
    assert len(set(digests)) > 5


OF_RELEASES = {"input": "i", "digests": {"0.9.0": "old", "1.6.0": "new", "1.7.0": "new"}}


@pytest.mark.parametrize(
    ("found", "changed"),
    [
        ({"0.9.0": "old", "1.6.0": "new", "1.7.0": "new"}, []),
        ({"0.9.0": "old", "1.6.0": "other", "1.7.0": "new"}, ["1.6.0"]),
        ({"0.9.0": "old", "1.6.0": "new", "1.7.0": "newest", "1.8.0": "newest"}, ["1.7.0", "1.8.0"]),
        ({"0.9.0": "old", "1.6.0": "new", "2.0.0": "newest", "2.1.0": "newest"}, ["2.0.0", "2.1.0"]),
        ({"0.9.0": "old", "1.5.0": "old", "1.6.0": "new"}, []),
    ],
    ids=["nothing", "of a known release", "a default since 1.7", "a default since 2.0", "a threshold without effect"],
)
def test_release_changed_if_its_digest_is_not_that_of_before(found: dict[str, str], changed: list[str]) -> None:
    assert find_changed_releases(OF_RELEASES, {"input": "i", "digests": found}) == [
        f"examples with images of {release}" for release in changed
    ]
    assert find_changed_releases(OF_RELEASES, {"input": "of other examples", "digests": found}) == []
