"""What `dynamo-hooks graph` does with files, and how it writes pictures."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from hooks.ground.settings import Settings
from hooks.tools.cli.refusing import refuse
from hooks.tools.offline.manifests.checking import Checked
from hooks.tools.offline.manifests.reading import Loaded, ManifestFaults
from hooks.tools.offline.manifests.together import check_whole
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.offline.picture.dot import write_dot
from hooks.tools.offline.picture.mermaid import write_mermaid
from hooks.tools.offline.picture.objects import Drawn, draw_rendered
from hooks.tools.offline.picture.parts import Picture
from hooks.tools.offline.picture.plan import Surroundings
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS

_WRITERS: dict[str, Callable[[Sequence[Picture]], str]] = {"mermaid": write_mermaid, "dot": write_dot}
_GROVE = "grove"


def draw_loaded(loaded: Loaded, settings: Settings, installed: frozenset[str] | None) -> Sequence[Picture]:
    """Draw manifests; if one is refused, or there is nothing to draw, ends the process with status 1."""
    try:
        drawn = _draw_given(loaded, settings, installed)
    except ManifestFaults as error:
        refuse(error.faults)
        return ()
    for remark in drawn.remarks:
        click.echo(remark, err=True)
    if not drawn.pictures:
        click.echo("there is no graph and no component to draw", err=True)
        sys.exit(1)
    return drawn.pictures


def _draw_given(loaded: Loaded, settings: Settings, installed: frozenset[str] | None) -> Drawn:
    """Draw manifests; without `installed`, as if all optional kinds were, Grove only where nothing else will do.

    Raises:
        ManifestFaults: every problem of every file.
    """
    if installed is not None:
        return _draw(check_whole(loaded, settings, installed), settings, installed)
    without = frozenset(OPTIONAL_KINDS) - {_GROVE}
    try:
        return _draw(check_whole(loaded, settings, without), settings, without)
    except ManifestFaults as refused:
        # A picture does not show in which form a version of Grove reads constraints.
        chosen = (
            settings.model_copy(update={"grove_topology": "pack"}) if settings.grove_topology == "off" else settings
        )
        try:
            return _draw(check_whole(loaded, chosen, without | {_GROVE}), chosen, without, spare=frozenset({_GROVE}))
        except ManifestFaults as again:
            raise ManifestFaults(set(refused.faults) & set(again.faults) or again.faults) from again


def _draw(
    checked: Checked, settings: Settings, installed: frozenset[str], *, spare: frozenset[str] = frozenset()
) -> Drawn:
    around = Surroundings(settings=settings, installed=installed)
    return draw_rendered(checked.rendered, around, spare=spare)


def write_pictures(pictures: Sequence[Picture], form: str, path: Path | None) -> None:
    """Write the pictures in a form to a file, or to standard output."""
    _write(_WRITERS[form](pictures), path)


def _write(text: str, path: Path | None) -> None:
    if path is None:
        with guard_output():
            click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from error
