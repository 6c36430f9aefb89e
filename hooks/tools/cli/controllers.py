"""`dynamo-hooks controllers`: the controllers that make Metacontroller call the hooks, for any URL."""

import re

import click

from hooks.ground.k8s.names import is_dns_label, is_subdomain
from hooks.ground.settings.types import MAX_INSTALLATION
from hooks.server.commands.kind_options import with_option
from hooks.tools.offline.manifests.writing import format_documents, guard_output
from hooks.wire.metacontroller import install_files

_URL = re.compile(r"https?://[^/\s?#]+(/[^\s?#]*)?")


def _parse_url(_context: click.Context, _parameter: click.Parameter, url: str) -> str:
    if url and not _URL.fullmatch(url):
        raise click.BadParameter(
            f"{url!r} is not a URL of the hooks; write http://HOST:PORT, such as http://10.0.0.5:8080"
        )
    return url


def _parse_installation(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if name and (not is_dns_label(name) or len(name) > MAX_INSTALLATION):
        raise click.BadParameter(
            f"{name!r} is not a name of an installation; write at most {MAX_INSTALLATION} of a-z, 0-9 and '-'"
        )
    return name


def _parse_secret(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> install_files.SecretKey | None:
    if text is None:
        return None
    namespace, _, name = text.partition("/")
    if not (is_dns_label(namespace) and is_subdomain(name)):
        raise click.BadParameter(f"{text!r} is not a Secret; write NAMESPACE/NAME")
    return install_files.SecretKey(namespace=namespace, name=name)


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks controllers | kubectl apply -f -
  dynamo-hooks controllers --url http://192.0.2.7:8080
  dynamo-hooks controllers --with grove,inference-pool --discovery-backend etcd -o json
  dynamo-hooks controllers --token-secret dynamo-system/dynamo-hooks-callers
  dynamo-hooks controllers --installation team-a --url http://dynamo-hooks.team-a.svc"""
)
@click.option(
    "--url",
    default="",
    metavar="URL",
    callback=_parse_url,
    help="Where Metacontroller finds the hooks. Default: the Service dynamo-hooks in dynamo-system.",
)
@with_option
@click.option(
    "--discovery-backend",
    type=click.Choice(["kubernetes", "etcd"]),
    default="kubernetes",
    show_default=True,
    help="With etcd, components get a finalize hook, which deletes their keys.",
)
@click.option(
    "--etcd-address",
    default="",
    metavar="ADDRESS",
    help=(
        "The setting `etcd_address`. With an address, components get the finalize hook too: a graph can choose etcd "
        "by annotation."
    ),
)
@click.option(
    "--installation",
    default="",
    metavar="NAME",
    callback=_parse_installation,
    help="The setting `installation` of a namespace-restricted installation. Default: the whole cluster.",
)
@click.option(
    "--token-secret",
    default=None,
    metavar="NAMESPACE/NAME",
    callback=_parse_secret,
    help="The Secret whose key `token` Metacontroller shows to the hooks, which `serve --token-file` asks for.",
)
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="YAML documents or a JSON list."
)
def controllers(  # noqa: PLR0913 - one parameter for each option
    *,
    url: str,
    installed: frozenset[str],
    discovery_backend: str,
    etcd_address: str,
    installation: str,
    token_secret: install_files.SecretKey | None,
    output: str,
) -> None:
    """Print the Composite- and DecoratorControllers that make Metacontroller call the hooks.

    Kinds after --with must be installed: Metacontroller does not start a controller that names a missing one.
    """
    may_use_etcd = discovery_backend == "etcd" or bool(etcd_address)
    found = install_files.controllers(
        url, installed, etcd_finalize=may_use_etcd, installation=installation, token_secret=token_secret
    )
    with guard_output():
        click.echo(format_documents(found, output), nl=False)
