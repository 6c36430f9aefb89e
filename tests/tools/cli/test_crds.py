"""`dynamo-hooks crds --v1beta1`: the definitions with both versions, and where the API server has them converted."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.language.crds import build_crds
from hooks.tools.cli.crds import crds
from hooks.wire.metacontroller import install_files

CONVERTED = {
    *("dynamocomponentdeployments", "dynamographdeploymentrequests", "dynamographdeployments"),
    "dynamographdeploymentscalingadapters",
}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(crds, arguments)


def converters(*arguments: str) -> dict[str, Any]:
    """Plural to `clientConfig` of the definitions that are converted."""
    found = json.loads(run("-o", "json", *arguments).stdout)
    return {
        crd["spec"]["names"]["plural"]: crd["spec"]["conversion"]["webhook"]["clientConfig"]
        for crd in found
        if "conversion" in crd["spec"]
    }


def test_without_the_option_nothing_is_converted() -> None:
    assert converters() == {}


def test_objects_are_converted_at_the_charts_service() -> None:
    service = {"name": "dynamo-hooks-admission", "namespace": "dynamo-system", "path": "/convert", "port": 443}
    assert converters("--v1beta1") == {plural: {"service": service} for plural in CONVERTED}


def test_another_service_is_named() -> None:
    service = {"name": "hooks", "namespace": "team-a", "path": "/convert", "port": 443}
    assert converters("--v1beta1", "--service", "team-a/hooks")["dynamographdeployments"] == {"service": service}


def test_url_and_authorities_are_written(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(CERTIFICATE)
    found = converters("--v1beta1", "--url", "https://127.0.0.1:9443/", "--ca-file", str(file))
    assert found["dynamographdeployments"] == {
        "url": "https://127.0.0.1:9443/convert",
        "caBundle": base64.b64encode(CERTIFICATE.encode()).decode(),
    }


def test_definitions_are_sorted_and_the_same_as_yaml_and_as_json() -> None:
    found = list(yaml.load_all(run("--v1beta1").stdout, yaml.CSafeLoader))
    assert found == json.loads(run("--v1beta1", "-o", "json").stdout)
    names = [crd["metadata"]["name"] for crd in found]
    assert names == [crd["metadata"]["name"] for crd in install_files.crds()]
    assert sorted(found, key=str) == sorted(
        build_crds(found[0]["spec"]["conversion"]["webhook"]["clientConfig"]), key=str
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--service", "hooks"), "'hooks' is not a Service; write NAMESPACE/NAME"),
        (
            ("--url", "http://hooks"),
            "'http://hooks' is not a URL that the API server can call; write https://HOST:PORT",
        ),
        (("--ca-file", "README.md"), "README.md holds no certificate in PEM; give the file ca.crt of"),
        (("--ca-file", "nowhere"), "File 'nowhere' does not exist"),
    ],
    ids=["service", "url", "no certificate", "no file"],
)
def test_wrong_option_is_refused_with_what_would_be_right(
    arguments: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    result = run("--v1beta1", *arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_option_that_needs_v1beta1_is_refused_without_it() -> None:
    result = run("--url", "https://127.0.0.1")
    assert result.exit_code == 2
    assert "--service, --url and --ca-file need --v1beta1" in result.stderr
