"""The command `dynamo-hooks`: finds the subcommand's module and loads only that."""

import importlib
import os
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, ClassVar

import click
from click.shell_completion import CompletionItem

from hooks.server.commands.terminal import guard_terminal
from hooks.server.serving.memory import GC_THRESHOLD_AT_START, collect_seldom

_NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
_RUN_BY_PODS = "Run by pods and Jobs of an installation"


class LazyGroup(click.Group):
    """Loads a command's module when it is called, so that `--help` and short commands start fast."""

    modules: ClassVar[dict[str, str]] = {
        "render": "Print every child of every manifest, down to the Deployments.",
        "validate": "Check manifests; print every problem with file and line.",
        "simulate": "Run manifests in an in-memory cluster, with the real hooks, until all is Ready.",
        "diff": "Show what a change of manifests will do: objects, restarts, GPUs.",
        "explain": "Show where a rendered value comes from, and what would change it.",
        "graph": "Draw graphs as Mermaid or DOT, from manifests or from a cluster.",
        "convert": "Write manifests in the other version: v1alpha1 or v1beta1.",
        "crds": "Print the CustomResourceDefinitions.",
        "schema": "Print JSON Schemas of the kinds, for editors and checkers.",
        "controllers": "Print the controllers that make Metacontroller call the hooks.",
        "doctor": "Check an installation, or list what a new one still needs.",
        "upgrade-plan": "Show what this version, with these settings, does to what runs.",
        "migrate": "Take over the objects of a Go operator, or show what that would change.",
        "serve": "Serve the hooks over HTTP.",
        "serve-admission": "Serve admission over HTTPS.",
        "certificates": "Make and renew the certificate of admission.",
        "enforce-admission": "Let webhooks refuse writes while admission is down, once it answers.",
        "mpi-key": "Make the SSH key of multinode TensorRT-LLM.",
        "self-test": "Ask running hooks whether they answer, as Metacontroller and the API server do.",
        "prepare-uninstall": "Remove the finalizers that would block deletions after an uninstall.",
        "prober": "Run the prober, which loads and verifies LoRA adapters.",
        "copy-output": "Copy a profiler's output to a ConfigMap, from a container beside it.",
    }

    sections: ClassVar[dict[str, tuple[str, ...]]] = {
        "In a cluster, by a person": ("doctor", "upgrade-plan", "migrate", "prepare-uninstall"),
        _RUN_BY_PODS: (
            *("serve", "serve-admission", "prober", "certificates", "enforce-admission", "mpi-key", "self-test"),
            "copy-output",
        ),
    }
    """The commands of the help's later sections, by title; all others are in the first."""
    only_unix = frozenset({"serve", "serve-admission", "prober", "simulate"})
    """What starts a server, which is gunicorn; all other commands also run on Windows."""
    first_section = "Before you apply, without a cluster"

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program with few garbage collections, and without plugins of pydantic: the search takes long.

        No text that it prints gives a terminal commands.
        """
        collect_seldom(GC_THRESHOLD_AT_START)
        guard_terminal()
        os.environ.setdefault(_NO_PLUGINS, "__all__")
        return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All commands, in the order in which a newcomer needs them."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of a command, and take the command; a dash in its name is an underscore in Python."""
        if cmd_name not in self.modules:
            return None
        if cmd_name in self.only_unix and find_spec("fcntl") is None:
            raise click.ClickException(
                f"{cmd_name} needs Linux: run it in a container or in the Windows Subsystem for Linux. "
                "All other commands work here"
            )
        room = "hooks.server.commands" if cmd_name in self.sections[_RUN_BY_PODS] else "hooks.tools.cli"
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"{room}.{name}"), name)
        assert isinstance(command, click.Command)  # noqa: S101 - a module's command is named like the module
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take the command from the arguments; an unknown one is refused with the nearest known one."""
        near = get_close_matches(args[0], self.modules, n=1)
        if args[0] not in self.modules and near:
            ctx.fail(f"No such command {args[0]!r}; did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands by section without loading them."""
        later = {name for names in self.sections.values() for name in names}
        first = tuple(name for name in self.modules if name not in later)
        for title, names in {self.first_section: first, **self.sections}.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, text in self.modules.items() if name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, without loading them, or the options."""
        named = [(name, text) for name, text in self.modules.items() if name.startswith(incomplete)]
        if incomplete[:1].isalnum() or not incomplete:
            return [CompletionItem(name, help=text) for name, text in named]
        return click.Command.shell_complete(self, ctx, incomplete)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Try: dynamo-hooks simulate examples/vllm-disagg.yaml",
)
@click.version_option(None, "--version", package_name="dynamo-hooks", message="dynamo-hooks %(version)s")
def main() -> None:
    """NVIDIA Dynamo graphs on Kubernetes, rendered by stateless hooks behind Metacontroller.

    `render`, `validate`, `simulate`, `diff`, `explain`, `graph`, `convert`, `crds`, `schema` and `controllers` need no
    cluster.
    """
