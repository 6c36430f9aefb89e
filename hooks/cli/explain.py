"""`dynamo-hooks explain`: where a rendered value comes from, and what would change it."""

import sys
from functools import partial

import click
import orjson

from hooks import contract
from hooks.cli.options import namespace_option, read_offline_settings, settings_option, with_option
from hooks.cli.refusing import refuse
from hooks.offline.explain.as_json import write_json
from hooks.offline.explain.choosing import Chosen, Question, Unclear, choose, narrow
from hooks.offline.explain.explaining import explain_all, explain_one
from hooks.offline.explain.leaves import LeafPlace, ObjectKey
from hooks.offline.explain.lookup import UnknownField, find_places, names_place, split_object, without_names
from hooks.offline.explain.services import service_of
from hooks.offline.explain.text import write_list, write_origin
from hooks.offline.manifests.reading import ManifestFaults
from hooks.offline.manifests.together import check_whole, load_together
from hooks.offline.manifests.writing import guard_output


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks explain graph.yaml -s Worker 'env[DYN_NAMESPACE]'
  dynamo-hooks explain graph.yaml -s Worker terminationGracePeriodSeconds
  dynamo-hooks explain graph.yaml -s Worker 'containers[main].livenessProbe'
  dynamo-hooks explain graph.yaml 'Service/graph-frontend: spec.ports'
  dynamo-hooks explain --with grove --set nats_address=nats://nats:4222 graph.yaml -s Worker 'env[NATS_SERVER]'"""
)
@click.argument("file", metavar="FILE")
@click.argument("field", default="", metavar="[FIELD]")
@click.option("-s", "--service", default="", metavar="SERVICE", help="The service whose workload is meant.")
@namespace_option
@with_option
@settings_option
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print the result.")
def explain(  # noqa: PLR0913 - one for each option
    *,
    file: str,
    field: str,
    service: str,
    namespace: str,
    installed: frozenset[str],
    set_values: tuple[str, ...],
    output: str,
) -> None:
    """Say where a rendered value comes from: a field with file and line, a default, a setting, another object.

    FILE is a file, a directory (read recursively) or - for standard input. FIELD is a field of the Deployment,
    LeaderWorkerSet or PodCliqueSet of the service; what stands before a field of the pod or of its main container can
    be left out. A field of another object begins with it: Service/NAME: spec.ports. If FIELD names several values, or
    is left out, each value has one line. Values of the variables that you wrote are only shown where FIELD names the
    variable, values of Secrets never.

    The answer is found by experiment: the manifest is rendered again and again, each time with another input changed.
    If a manifest is refused, or has no such field, the exit status is 1.
    """
    settings = read_offline_settings(set_values)
    key, wanted = split_object(field)
    try:
        question = Question(service=service, key=key)
        loaded = narrow(load_together([file], namespace), question)
        checked = check_whole(loaded, settings, installed)
        chosen = choose(loaded, checked, question, settings=settings, installed=installed)
        places = _find(chosen, wanted, key)
    except ManifestFaults as error:
        refuse(error.faults)
        return
    except (Unclear, UnknownField) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    with guard_output():
        click.echo(_write(chosen, places, wanted, output), nl=False)


def _find(chosen: Chosen, field: str, key: ObjectKey | None) -> list[LeafPlace]:
    if not field:
        return _all(chosen, key)
    return find_places(field, chosen.case.made, service=chosen.service, key=key)


def _write(chosen: Chosen, places: list[LeafPlace], field: str, output: str) -> str:
    """One value in full, several in a list."""
    is_one = len(places) == 1
    origins = [explain_one(chosen.case, places[0])] if is_one else explain_all(chosen.case, places)
    variable = str(places[0].path.parts[-2]) if is_one and names_place(field, places[0]) else ""
    if output == "json":
        return orjson.dumps(write_json(origins, variable=variable), option=orjson.OPT_INDENT_2).decode() + "\n"
    bold = partial(click.style, bold=True)
    return write_origin(origins[0], bold, variable=variable) if is_one else write_list(origins, bold)


def _all(chosen: Chosen, key: ObjectKey | None) -> list[LeafPlace]:
    """All leaves of one object, of a service, or of the document; those of components are again in their children."""
    made = chosen.case.made
    if key:
        return without_names(list(made.leaves_of(key)))
    own = [one for one in made.all_leaves() if one.kind != contract.COMPONENT.kind]
    return without_names([one for one in own if not chosen.service or service_of(one, made) == chosen.service])
