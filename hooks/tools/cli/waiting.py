"""What `dynamo-hooks diff --wait` does: waits until what was said has arrived, and says what came of it."""

import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import click

from hooks.ground.errors import InvalidRequest
from hooks.ground.k8s.messages import one_line
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection, connect
from hooks.tools.cli.refusals import describe_refusal
from hooks.tools.cli.sides import fail
from hooks.tools.offline.diff.said import Announced, compare_said, read_said
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.operating.after_apply import Arrival, look

_PAUSE_SECONDS = 2.0
_LONGEST = 200


def wait_and_compare(plan: Path, seconds: float, connection: Connection) -> None:
    """Print what came of each service; exit status 1 if something else did, or if not all has arrived in time."""
    try:
        said = read_said(plan.read_bytes())
    except (InvalidRequest, OSError) as error:
        fail([f"{plan}: {getattr(error, 'strerror', None) or error}"])
    try:
        with connect(connection) as cluster:
            arrival = _wait(lambda: look(cluster, said), seconds)
    except Refused as refused:
        fail([describe_refusal(refused)])
    with guard_output():
        is_as_said = _tell(said, arrival)
    if arrival.waiting or not is_as_said:
        sys.exit(1)


def _wait(look_again: Callable[[], Arrival], seconds: float) -> Arrival:
    end, told = monotonic() + seconds, ""
    while True:
        arrival = look_again()
        if not arrival.waiting or monotonic() >= end:
            return arrival
        if arrival.waiting[0] != told:
            told = arrival.waiting[0]
            click.echo(one_line(f"waiting: {told}", _LONGEST), err=True)
        sleep(min(_PAUSE_SECONDS, max(0.0, end - monotonic())))


def _tell(said: Announced, arrival: Arrival) -> bool:
    """Print the result; returns whether all came as it was said."""
    came = list(compare_said(said, arrival.pods))
    others = sum(not one.is_as_said for one in came)
    if arrival.waiting:
        click.echo("Not all has arrived in time:")
        for text in arrival.waiting:
            click.echo(f"  {one_line(text, _LONGEST)}")
    elif others:
        click.echo(f"Applied, but {others} service{'' if others == 1 else 's'} did something else than was said.")
    else:
        click.echo("Applied, as was said." if came else "Applied, as was said: no pod restarted.")
    for one in came:
        click.echo(f"  {one.text}")
    return not others
