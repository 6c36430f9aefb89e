"""`dynamo-hooks explain`: where a rendered value comes from, and what would change it."""

import sys
from collections.abc import Iterable, Sequence
from functools import partial

import click
import orjson

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.server.commands.kind_options import with_option
from hooks.server.commands.settings_options import settings_option
from hooks.tools.cli.build_options import build_options
from hooks.tools.cli.colours import paint
from hooks.tools.cli.options import namespace_option, origin_option, read_offline_settings
from hooks.tools.cli.refusing import refuse
from hooks.tools.offline.explain.as_json import write_json
from hooks.tools.offline.explain.choosing import Chosen, Question, Unclear, choose, narrow
from hooks.tools.offline.explain.effects import FieldEffects, find_effects, names_manifest
from hooks.tools.offline.explain.effects_text import write_effects, write_effects_json
from hooks.tools.offline.explain.explaining import explain_all, explain_one
from hooks.tools.offline.explain.leaves import LeafPlace, ObjectKey
from hooks.tools.offline.explain.lookup import (
    UnknownField,
    find_places,
    names_place,
    split_field,
    split_object,
    without_names,
)
from hooks.tools.offline.explain.services import places_of_services, service_of
from hooks.tools.offline.explain.text import write_leaf_sources, write_list
from hooks.tools.offline.explain.unset import UnsetField, find_unset
from hooks.tools.offline.manifests.built.building import Building
from hooks.tools.offline.manifests.document import Fault
from hooks.tools.offline.manifests.inputs import Selection
from hooks.tools.offline.manifests.reading import ManifestFaults
from hooks.tools.offline.manifests.together import check_whole, load_together
from hooks.tools.offline.manifests.writing import guard_output

_MOST = 8
"""So many services are asked, if none is named."""


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks explain graph.yaml -s Worker 'env[DYN_NAMESPACE]'
  dynamo-hooks explain graph.yaml -s Worker terminationGracePeriodSeconds
  dynamo-hooks explain graph.yaml -s Worker 'containers[main].livenessProbe'
  dynamo-hooks explain graph.yaml -s Worker nodeSelector        where to write what is not set
  dynamo-hooks explain graph.yaml 'spec.services[Worker].subComponentType'   what a field of the manifest does
  dynamo-hooks explain graph.yaml 'Service/graph-frontend: spec.ports'
  dynamo-hooks explain --with grove --set nats_address=nats://nats:4222 graph.yaml -s Worker 'env[NATS_SERVER]'"""
)
@click.argument("file", metavar="FILE")
@click.argument("field", default="", metavar="[FIELD]")
@click.option("-s", "--service", default="", metavar="SERVICE", help="The service whose workload is meant.")
@namespace_option
@with_option
@settings_option
@build_options
@origin_option
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print the result.")
def explain(  # noqa: PLR0913 - one for each option
    *,
    file: str,
    field: str,
    service: str,
    namespace: str,
    installed: frozenset[str],
    set_values: tuple[str, ...],
    building: Building,
    origin: str,
    output: str,
) -> None:
    """Say where a rendered value comes from: a field with file and line, a setting, another object, or built in.

    FILE is a file, a directory (read recursively) or - for standard input. FIELD is a field of the Deployment,
    LeaderWorkerSet or PodCliqueSet of the service; what stands before a field of the pod or of its main container can
    be left out. A field of another object begins with it: Service/NAME: spec.ports. If FIELD names several values, or
    is left out, each value has one line. For a field that is not set, the field of the manifest to write is told. If
    FIELD is a field of the manifest itself, such as spec.services[Worker].replicas, all that follows from it is listed.
    Values of the variables that you wrote are only shown where FIELD names the variable, values of Secrets never.

    The answer is found by experiment: the manifest is rendered again and again, each time with another input changed.
    What `validate` warns of in the same service, such as a flag that its image does not know, is printed to standard
    error. If a manifest is refused, or there can be no such field, the exit status is 1.
    """
    settings = read_offline_settings(set_values)
    key, wanted = split_object(field)
    try:
        question = Question(service=service or _service_in(wanted), key=key)
        loaded = narrow(load_together([file], namespace, Selection(building=building, origin=origin)), question)
        checked = check_whole(loaded, settings, installed)
        chosen = choose(loaded, checked, question, settings=settings, installed=installed)
        answer = _answer(chosen, wanted, key, output)
    except ManifestFaults as error:
        refuse(error.faults)
        return
    except (Unclear, UnknownField) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    for warning in _warnings_of(chosen, checked.warnings):
        click.echo(f"warning: {warning}", err=True)
    with guard_output():
        click.echo(answer, nl=False)


def _warnings_of(chosen: Chosen, warnings: Iterable[Fault]) -> list[Fault]:
    """Those about the service in question; all if there is none."""
    place = places_of_services(chosen.case.build.written).get(chosen.service)
    return [one for one in warnings if place is None or one.problem.path.parts[: len(place)] == place]


def _service_in(field: str) -> str:
    """The service that a field of the manifest names, so that FILE may have other graphs; empty for none."""
    parts = split_field(field)
    return parts[2] if len(parts) > 2 and parts[:2] == ("spec", "services") else ""


def _answer(chosen: Chosen, field: str, key: ObjectKey | None, output: str) -> str:
    """What is known of the values that the field names, of the field of the manifest, or of one that is not set.

    Raises:
        UnknownField: there can be no such field.
    """
    case = chosen.case
    written = case.build.written
    if key is None and names_manifest(field, written):
        if found := find_effects(case, field):
            return _write_effects(found, output)
        raise UnknownField(f"{written['kind']} {written['metadata']['name']} has no field {field}")
    try:
        return _write(chosen, _find(chosen, field, key), field, output)
    except UnknownField:
        services = [chosen.service] if chosen.service else list(places_of_services(written)) or [""]
        tried = [] if key or not field else [find_unset(case, split_field(field), one) for one in services[:_MOST]]
        unset = [one for one in tried if one is not None]
        if not unset:
            raise
    return _write_unset(unset, output)


def _write_effects(found: FieldEffects, output: str) -> str:
    if output == "json":
        return _dump([write_effects_json(found)])
    return write_effects(found, partial(paint, colour="bold"))


def _write_unset(unset: Sequence[UnsetField], output: str) -> str:
    if output == "json":
        return _dump([one.as_json() for one in unset])
    return "".join(f"{one}\n" for one in unset)


def _dump(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n"


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
        return _dump(write_json(origins, variable=variable))
    bold = partial(paint, colour="bold")
    if is_one:
        return write_leaf_sources(origins[0], bold, variable=variable)
    return write_list(origins, bold)


def _all(chosen: Chosen, key: ObjectKey | None) -> list[LeafPlace]:
    """All leaves of one object, of a service, or of the document; those of components are again in their children."""
    made = chosen.case.made
    if key:
        return without_names(list(made.leaves_of(key)))
    own = [one for one in made.all_leaves() if one.kind != contract.COMPONENT.kind]
    return without_names([one for one in own if not chosen.service or service_of(one, made) == chosen.service])
