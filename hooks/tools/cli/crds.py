"""`dynamo-hooks crds`: the CustomResourceDefinitions, for `kubectl apply`."""

import base64
import re
from pathlib import Path

import click

from hooks.ground.k8s.names import is_dns_label
from hooks.ground.k8s.types import Json, Manifest
from hooks.language.crds import build_crds
from hooks.tools.offline.manifests.writing import format_documents, guard_output
from hooks.wire.metacontroller import install_files

PATH = "/convert"
_SERVICE = ("dynamo-system", "dynamo-hooks-admission")
"""Namespace and name of the chart's Service."""
_URL = re.compile(r"https://[^/\s?#]+(/[^\s?#]*)?")
_PEM = b"-----BEGIN CERTIFICATE-----"


def _parse_service(_context: click.Context, _parameter: click.Parameter, address: str) -> dict[str, Json]:
    namespace, _, name = address.partition("/")
    if not (is_dns_label(namespace) and is_dns_label(name)):
        raise click.BadParameter(f"{address!r} is not a Service; write NAMESPACE/NAME")
    return _service(namespace, name)


def _service(namespace: str, name: str) -> dict[str, Json]:
    return {"service": {"name": name, "namespace": namespace, "path": PATH, "port": 443}}


def _parse_url(_context: click.Context, _parameter: click.Parameter, url: str) -> str:
    if url and not _URL.fullmatch(url):
        raise click.BadParameter(f"{url!r} is not a URL that the API server can call; write https://HOST:PORT")
    return url


def _read_authorities(_context: click.Context, _parameter: click.Parameter, file: Path | None) -> dict[str, Json]:
    if file is None:
        return {}
    content = file.read_bytes()
    if _PEM not in content:
        raise click.BadParameter(
            f"{file} holds no certificate in PEM; give the file ca.crt of the certificate's Secret"
        )
    return {"caBundle": base64.b64encode(content).decode()}


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks crds | kubectl apply -f -
  dynamo-hooks crds -o json > crds.json
  dynamo-hooks crds --v1beta1 --ca-file ca.crt | kubectl apply -f -
  dynamo-hooks crds --v1beta1 --service team-a/hooks-admission"""
)
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="YAML documents or a JSON list."
)
@click.option(
    "--v1beta1",
    "with_v1beta1",
    is_flag=True,
    help="Serve graphs, components and scaling adapters in v1beta1 too, converted by the hooks; v1alpha1 stays stored.",
)
@click.option(
    "--service",
    default="/".join(_SERVICE),
    metavar="NAMESPACE/NAME",
    show_default=True,
    callback=_parse_service,
    help="With --v1beta1: the Service of the admission port, which converts objects.",
)
@click.option(
    "--url",
    default="",
    metavar="URL",
    callback=_parse_url,
    help="With --v1beta1: where the API server finds the admission port, instead of --service.",
)
@click.option(
    "--ca-file",
    "authorities",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=_read_authorities,
    help="With --v1beta1: the authorities of the port's certificate, PEM. Without: `certificates --crd` adds them.",
)
def crds(*, output: str, with_v1beta1: bool, service: dict[str, Json], url: str, authorities: dict[str, Json]) -> None:
    """Print the CustomResourceDefinitions: the five kinds, and DynamoWorkerMetadata, which workers write.

    They serve v1alpha1. With --v1beta1, while nothing answers at the Service or URL, requests for v1beta1 fail.
    """
    if not with_v1beta1 and (url or authorities or service != _service(*_SERVICE)):
        raise click.UsageError("--service, --url and --ca-file need --v1beta1")
    where: dict[str, Json] = {"url": f"{url.rstrip('/')}{PATH}"} if url else service
    found = _both_versions({**where, **authorities}) if with_v1beta1 else install_files.crds()
    with guard_output():
        click.echo(format_documents(found, output), nl=False)


def _both_versions(converter: dict[str, Json]) -> list[Manifest]:
    return sorted(build_crds(converter), key=lambda crd: str(crd["metadata"]["name"]))
