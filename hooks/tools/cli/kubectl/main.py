"""The command `kubectl-dynamo`, which kubectl runs as `kubectl dynamo`; loads only the subcommand that is called."""

import importlib
from typing import ClassVar

import click

from hooks.server.commands.main import LazyGroup
from hooks.server.commands.main import main as dynamo_hooks
from hooks.tools.cli.kubectl.suggesting import complete_namespaces

_BORROWED = ("diff", "explain", "graph", "doctor")
"""Commands of `dynamo-hooks` that are useful with a cluster; those that it does not have are not offered."""
_OWN = {
    "status": "List graphs, or show one as it is: the tree of its objects, reasons, Events.",
    "why": "Say in one sentence why a graph is not ready.",
    "ask": "Send one chat completion to a graph: the answer, and how long it took.",
    "logs": "Print the logs of a graph's pods, or of those of some services.",
    "restart": "Restart a graph, or some of its services.",
    "rollout": "Watch, pause, resume, try on a part: how workers go from one generation to the next.",
    "scale": "Set the replicas of a service, through its scaling adapter where it has one.",
}


class PluginGroup(LazyGroup):
    """The commands of this folder, and some of `dynamo-hooks`."""

    modules: ClassVar[dict[str, str]] = {
        **_OWN,
        **{name: LazyGroup.modules[name] for name in _BORROWED if name in LazyGroup.modules},
    }
    sections: ClassVar[dict[str, tuple[str, ...]]] = {
        "Change a graph": ("restart", "rollout", "scale"),
        "Compare, explain": _BORROWED,
    }
    first_section = "Look at graphs"

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; a borrowed one takes the cluster where `dynamo-hooks` takes files."""
        if cmd_name in _OWN:
            command = getattr(importlib.import_module(f"hooks.tools.cli.kubectl.{cmd_name}"), cmd_name)
            assert isinstance(command, click.Command)  # noqa: S101 - a module's command is named like the module
            return command
        if cmd_name not in self.modules:
            return None
        borrowed = dynamo_hooks.get_command(ctx, cmd_name)
        if borrowed is None or cmd_name not in {"diff", "graph"}:
            return borrowed
        from hooks.tools.cli.kubectl.borrowed import prefer_cluster  # noqa: PLC0415 - only these two need it

        return prefer_cluster(borrowed)


@click.command(
    cls=PluginGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Try: kubectl dynamo status GRAPH",
)
@click.option(
    "-n", "--namespace", metavar="NAMESPACE", shell_complete=complete_namespaces, help="The namespace of the command."
)
@click.option("--context", metavar="NAME", help="A context of the kubeconfig.")
@click.option("--kubeconfig", metavar="FILE", type=click.Path(dir_okay=False), help="A kubeconfig.")
@click.version_option(None, "--version", package_name="dynamo-hooks", message="kubectl-dynamo %(version)s")
@click.pass_context
def group(called: click.Context, /, **given: str | None) -> None:
    """Graphs of NVIDIA Dynamo in a cluster: what they are doing, restart, scale, logs, and what a change would do.

    Cluster, user and namespace are those that kubectl takes: --kubeconfig, --context and -n come before or after the
    command.
    """
    values = {name: value for name, value in given.items() if value}
    called.default_map = dict.fromkeys(PluginGroup.modules, values)


def main() -> None:
    """Run the command under the name that a user types."""
    group(prog_name="kubectl dynamo")
