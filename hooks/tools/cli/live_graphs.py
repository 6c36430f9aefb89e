"""What `dynamo-hooks graph` does with a cluster: pictures of its graphs, or a sentence and exit status 1."""

import sys
from collections.abc import Sequence

import click

from hooks.ground.errors import InvalidSpec
from hooks.ground.settings import Settings
from hooks.server.clients.api_server import Refused
from hooks.tools.cli.cluster_options import Connection, connect
from hooks.tools.offline.picture.parts import Picture
from hooks.tools.operating.live_graphs import draw_live_graph


def draw_live(graphs: Sequence[str], namespace: str, settings: Settings, connection: Connection) -> Sequence[Picture]:
    """Draw graphs of the cluster; if one is missing or cannot be read, ends the process with status 1."""
    pictures: list[Picture] = []
    try:
        with connect(connection) as cluster:
            where = namespace or cluster.namespace
            for name in graphs:
                found = draw_live_graph(cluster, name, where, settings)
                if found is None:
                    click.echo(f"there is no graph {name} in namespace {where}", err=True)
                    sys.exit(1)
                for sentence in found.unread:
                    click.echo(f"not shown: {sentence}", err=True)
                pictures.append(found.picture)
    except (Refused, InvalidSpec) as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    return pictures
