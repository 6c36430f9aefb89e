"""The umbrella chart: its dependencies, with stand-ins in their place, and the table of the Go operator's values."""

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from hooks import __version__
from hooks.ground.settings import parse_settings
from tests.chart_values import leaves, read_meanings, write_readme
from tests.installation import ROOT, named, of_kind, program
from tests.platform_values import read_rows, write_page
from tests.test_chart import CHART, KUBERNETES, VALUES, variables_of
from tests.upstream_platform_values import EVERY

PLATFORM = CHART / "platform"
PAGE = ROOT / "docs" / "platform-values.md"
OWN: dict[str, Any] = yaml.safe_load((PLATFORM / "values.yaml").read_text())
METADATA: dict[str, Any] = yaml.safe_load((PLATFORM / "Chart.yaml").read_text())
PARTS = {found.get("alias", found["name"]): found for found in METADATA["dependencies"]}
STAND_INS = PARTS.keys() - {"dynamo-hooks"}
STAND_IN = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: stand-in-{{ .Chart.Name }}
data:
  values: {{ toJson .Values | quote }}
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart as `helm dependency build` leaves it, with stand-ins that show which values they got."""
    folder = tmp_path_factory.mktemp("charts") / "platform"
    shutil.copytree(PLATFORM, folder)
    shutil.copytree(CHART, folder / "charts" / "dynamo-hooks", ignore=shutil.ignore_patterns("platform"))
    for part in STAND_INS:
        found = PARTS[part]
        templates = folder / "charts" / found["name"] / "templates"
        templates.mkdir(parents=True)
        (templates / "values.yaml").write_text(STAND_IN)
        metadata = {"apiVersion": "v2", "name": found["name"], "version": found["version"]}
        (templates.parent / "Chart.yaml").write_text(yaml.safe_dump(metadata))
    return folder


def run(platform: Path, *options: str) -> subprocess.CompletedProcess[str]:
    place = ("--namespace", "dynamo-system", "--kube-version", KUBERNETES)
    command = [program("helm"), "template", "dynamo-platform", str(platform), *place, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def template(platform: Path, *options: str) -> list[dict[str, Any]]:
    done = run(platform, *options)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.load_all(done.stdout, yaml.CSafeLoader) if document]


def refusal(platform: Path, *options: str) -> str:
    done = run(platform, *options)
    assert done.returncode != 0
    return done.stderr


def installed(documents: list[dict[str, Any]]) -> set[str]:
    """The parts that are there."""
    config_maps = {found["metadata"]["name"].removeprefix("stand-in-") for found in of_kind(documents, "ConfigMap")}
    return config_maps & STAND_INS | ({"dynamo-hooks"} if of_kind(documents, "Deployment") else set())


def values_of(documents: list[dict[str, Any]], part: str) -> dict[str, Any]:
    """What a stand-in got."""
    found: dict[str, Any] = json.loads(named(documents, "ConfigMap", f"stand-in-{part}")["data"]["values"])
    return found


def paths_of(values: Mapping[str, Any], prefix: str = "") -> set[str]:
    """Every path of a key, also those that lead to further keys."""
    below = (
        paths_of(value, f"{prefix}{key}.") | {f"{prefix}{key}"} if isinstance(value, dict) else {f"{prefix}{key}"}
        for key, value in values.items()
    )
    return set().union(*below)


# Files


def test_every_part_is_pinned_and_none_is_in_the_repository() -> None:
    for found in METADATA["dependencies"]:
        assert re.fullmatch(r"v?[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9.-]+)?", found["version"])
        assert re.match(r"(oci|https|file)://", found["repository"])
        assert found["condition"] == f"{found.get('alias', found['name'])}.enabled"
    assert PARTS.keys() == OWN.keys()
    hooks = PARTS["dynamo-hooks"]
    assert (hooks["version"], METADATA["version"], METADATA["appVersion"]) == (__version__,) * 3
    assert (PLATFORM / hooks["repository"].removeprefix("file://")).resolve() == CHART
    assert not list(PLATFORM.rglob("*.tgz"))
    assert not (PLATFORM / "Chart.lock").exists()


def test_readme_names_version_and_repository_of_every_part() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (\S+) (\S+) \| (.*?) \| (on|off) \|$", (PLATFORM / "README.md").read_text(), re.MULTILINE
    )
    assert [(part, name, version) for part, name, version, _, _ in rows] == [
        (part, found["name"], found["version"]) for part, found in PARTS.items()
    ]
    assert [found.strip("`") for *_, found, _ in rows[1:]] == [d["repository"] for d in METADATA["dependencies"][1:]]
    assert {part: default == "on" for part, *_, default in rows} == {part: OWN[part]["enabled"] for part in PARTS}


def test_package_of_the_hooks_is_what_this_chart_depends_on_and_does_not_contain_it(tmp_path: Path) -> None:
    """`helm dependency build`, with the hooks as the only dependency: the others are on the network."""
    folder = tmp_path / "platform"
    folder.mkdir(parents=True)
    hooks = {**PARTS["dynamo-hooks"], "repository": f"file://{CHART}"}
    (folder / "Chart.yaml").write_text(yaml.safe_dump({**METADATA, "dependencies": [hooks]}))
    command = [program("helm"), "dependency", "build", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with tarfile.open(folder / "charts" / f"dynamo-hooks-{__version__}.tgz") as package:
        names = package.getnames()
    assert "dynamo-hooks/values.yaml" in names
    assert not [name for name in names if "platform" in name]


def test_every_value_is_explained_and_the_readme_is_made_from_them(request: pytest.FixtureRequest) -> None:
    meanings = read_meanings((PLATFORM / "values.yaml").read_text())
    assert [path for path, _ in leaves(OWN) if not meanings[path]] == []
    expected = write_readme(PLATFORM)
    if request.config.getoption("--update-golden"):
        (PLATFORM / "README.md").write_text(expected)
    assert (PLATFORM / "README.md").read_text() == expected, "make golden writes the table of values again"


def test_schema_takes_the_defaults_and_refuses_unknown_parts() -> None:
    schema = jsonschema_rs.validator_for(json.loads((PLATFORM / "values.schema.json").read_text()))
    assert [error.message for error in schema.iter_errors(OWN)] == []
    assert not schema.is_valid({"natz": {"enabled": True}})
    assert not schema.is_valid({"nats": {"enabled": "yes"}})


# The table of the Go operator's values


def test_table_has_every_value_of_the_go_operators_chart_once() -> None:
    listed = [row.upstream for row in read_rows()]
    assert len(EVERY) == len(set(EVERY)) > 100
    assert sorted(listed) == sorted(EVERY)


def test_every_row_names_a_value_of_ours_or_says_why_there_is_none() -> None:
    known = paths_of(OWN) | {f"dynamo-hooks.{path}" for path in paths_of(VALUES)}
    for row in read_rows():
        assert row.ours or row.why, row.upstream
        part, _, rest = row.ours.partition(".")
        if part == "dynamo-hooks" and rest.partition(".")[0] in {*VALUES, "enabled"}:
            assert row.ours in known, row.upstream
        if row.ours == row.upstream and not row.why.startswith("not set here"):
            assert row.ours in known, row.upstream


def test_page_of_the_table_is_made_from_the_list(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(write_page())
    assert PAGE.read_text() == write_page(), "make golden writes the page again"


# What helm renders


def test_platform_passes_lint(platform: Path) -> None:
    command = [program("helm"), "lint", "--strict", str(platform), "--kube-version", KUBERNETES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_defaults_install_what_every_cluster_needs(platform: Path) -> None:
    assert installed(template(platform)) == {"dynamo-hooks", "metacontroller", "nats"}


@pytest.mark.parametrize("part", sorted(PARTS))
def test_condition_of_each_part_decides_on_it_alone(part: str, platform: Path) -> None:
    address = ("--set", "dynamo-hooks.settings.natsAddress=nats://mine:4222")
    etcd = ("--set", "dynamo-hooks.settings.etcdAddress=http://etcd:2379")
    wanted = not OWN[part]["enabled"]
    documents = template(platform, "--set", f"{part}.enabled={json.dumps(wanted)}", *address, *etcd)
    assert installed(documents) == {"dynamo-hooks", "metacontroller", "nats"} ^ {part}


def test_metacontroller_is_set_up_for_scale_and_runs_with_the_rights_of_our_chart(platform: Path) -> None:
    documents = template(platform)
    values = values_of(documents, "metacontroller")
    assert values["clusterRole"]["rules"] == []
    flags = dict(flag.removeprefix("--").partition("=")[::2] for flag in values["commandArgs"])
    assert int(flags["client-go-qps"]) >= 100
    assert int(flags["client-go-burst"]) >= 200
    assert int(flags["workers"]) >= 10
    assert ("leader-election" in flags) == (values["replicas"] > 1)
    name = "dynamo-platform-dynamo-hooks"
    binding = named(documents, "ClusterRoleBinding", f"{name}-metacontroller")
    account = {"kind": "ServiceAccount", "namespace": "dynamo-system", "name": values["fullnameOverride"]}
    assert binding["subjects"] == [account]
    (policy,) = of_kind(documents, "NetworkPolicy")
    caller = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "dynamo-system"}}}
    assert caller in policy["spec"]["ingress"][0]["from"]
    settings = settings_of(documents)
    assert "system:serviceaccount:dynamo-system:metacontroller" in settings.controller_accounts


def settings_of(documents: list[dict[str, Any]]) -> Any:
    (deployment,) = of_kind(documents, "Deployment")
    variables = variables_of(deployment["spec"]["template"]["spec"]["containers"][0])
    return parse_settings({key: value for key, value in variables.items() if key.startswith("DYNAMO_HOOKS_")})


def test_components_get_the_addresses_of_the_release(platform: Path) -> None:
    etcd = "dynamo-hooks.settings.etcdAddress=http://{{.Release.Name}}-etcd.{{.Release.Namespace}}.svc:2379"
    settings = settings_of(template(platform, "--set", "etcd.enabled=true", "--set", etcd))
    assert settings.nats_address == "nats://dynamo-platform-nats.dynamo-system.svc:4222"
    assert settings.etcd_address == "http://dynamo-platform-etcd.dynamo-system.svc:2379"


def test_components_get_no_address_of_a_nats_that_is_not_wanted(platform: Path) -> None:
    off = ("--set", "nats.enabled=false", "--set", "dynamo-hooks.settings.natsAddress=null")
    assert settings_of(template(platform, *off)).nats_address == ""


def test_values_of_a_part_reach_it(platform: Path, tmp_path: Path) -> None:
    own = {"nats": {"config": {"merge": {"max_payload": 1}, "new": "x"}}, "dynamo-hooks": {"replicas": 3}}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(own))
    documents = template(platform, "--values", str(tmp_path / "values.yaml"))
    nats = values_of(documents, "nats")["config"]
    assert (nats["merge"]["max_payload"], nats["new"], nats["jetstream"]["fileStore"]["dir"]) == (1, "x", "/data")
    (deployment,) = of_kind(documents, "Deployment")
    assert deployment["spec"]["replicas"] == 3


REFUSED = [
    (("nats.enabled=false",), "name your NATS in dynamo-hooks.settings.natsAddress"),
    (
        ("etcd.enabled=true",),
        "tell the components of it with dynamo-hooks.settings.etcdAddress=http://{{.Release.Name}}",
    ),
    (("metacontroller.fullnameOverride=mc",), "must be metacontroller.fullnameOverride"),
    (("dynamo-hooks.metacontroller.namespace=other",), "dynamo-hooks.metacontroller.namespace must be empty"),
    (("natz.enabled=true",), "natz"),
]


@pytest.mark.parametrize(("values", "sentence"), REFUSED, ids=[values[0] for values, _ in REFUSED])
def test_values_that_contradict_each_other_are_refused(values: tuple[str, ...], sentence: str, platform: Path) -> None:
    assert sentence in refusal(platform, *(part for value in values for part in ("--set", value)))


def test_values_of_the_go_operator_are_refused_with_what_replaces_each(platform: Path, tmp_path: Path) -> None:
    operator = {"natsAddr": "nats://x:1", "webhook": {"certManager": {"enabled": True}}, "upgradeCRD": True, "new": 1}
    more = {"dynamo": {"enableRestrictedSecurityContext": True}}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"dynamo-operator": {**operator, **more}}))
    lines = refusal(platform, "--values", str(tmp_path / "values.yaml")).splitlines()
    assert "dynamo-operator.natsAddr: write dynamo-hooks.settings.natsAddress" in lines
    assert "dynamo-operator.webhook.certManager.enabled: write dynamo-hooks.admission.certificates.source" in lines
    (none,) = (line for line in lines if line.startswith("dynamo-operator.dynamo.enableRestrictedSecurityContext"))
    assert none.partition(": ")[2].startswith("leave it out: the pods of the hooks are always restricted")
    assert len([line for line in lines if line.startswith("dynamo-operator.")]) == 4
