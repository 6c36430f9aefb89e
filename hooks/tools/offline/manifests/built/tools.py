"""Runs the tool that builds a directory: `kustomize build` or `kubectl kustomize`, and `helm template`.

They do what they do on the command line: a Kustomization may fetch remote bases. No cluster is asked.
"""

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hooks.ground.k8s.names import is_dns_label
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.ground.problems import HERE, Problem
from hooks.language.rules import reading as rules

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART = "Chart.yaml"
_SECONDS = 120
_LONGEST_RELEASE = 53


class Tool(StrEnum):
    """What builds a directory, by the name of what it builds."""

    KUSTOMIZE = "Kustomization"
    HELM = "Helm chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a tool printed, and the command line to repeat it."""

    tool: Tool
    text: str
    command: str


def find_tool(folder: Path) -> Tool | None:
    """What builds a directory; None for one that holds manifests."""
    if any((folder / name).is_file() for name in KUSTOMIZATIONS):
        return Tool.KUSTOMIZE
    return Tool.HELM if (folder / CHART).is_file() else None


def build(folder: Path, tool: Tool, namespace: str, values: Sequence[str] = ()) -> Output | Problem:
    """What the tool makes of the directory, or why it makes nothing of it. `values` are files of values for Helm."""
    lines = _helm(folder, namespace, values) if tool is Tool.HELM else _kustomize(folder)
    found = next((line for line in lines if shutil.which(line[0])), None)
    if found is None:
        missing = " and ".join(line[0] for line in lines)
        are = "is" if len(lines) == 1 else "are"
        return rules.NO_BUILDER.at(HERE, what=tool.value, missing=f"{missing} {are}", command=shlex.join(lines[-1]))
    command = shlex.join(found)
    try:
        done = subprocess.run(  # noqa: S603 - the program is one of three, and no shell reads the paths
            found,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            text=True,
            close_fds=False,  # a file of values may be <(a command) of the shell
        )
    except subprocess.TimeoutExpired:
        return rules.NOT_BUILT.at(HERE, said=f"{found[0]} took more than {_SECONDS} seconds", command=command)
    except (OSError, UnicodeDecodeError) as error:
        return rules.NOT_BUILT.at(HERE, said=f"{found[0]} cannot be run: {error}", command=command)
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"{found[0]} ended with status {done.returncode}"
        return rules.NOT_BUILT.at(HERE, said=said, command=command)
    return Output(tool=tool, text=done.stdout, command=command)


def _kustomize(folder: Path) -> list[list[str]]:
    return [["kustomize", "build", _name(folder)], ["kubectl", "kustomize", _name(folder)]]


def _name(folder: Path) -> str:
    """The directory in words that no tool takes for an option, for an address or for a chart of a repository."""
    return str(folder) if folder.is_absolute() else f"./{folder}"


def _helm(folder: Path, namespace: str, values: Sequence[str]) -> list[list[str]]:
    options = [word for file in values for word in ("--values", file)]
    return [["helm", "template", _release_of(folder), _name(folder), "--namespace", namespace or "default", *options]]


def _release_of(folder: Path) -> str:
    """The chart's name, which is what most releases are called, so that names of objects are no longer than theirs."""
    try:
        chart = next(iter(parse_yaml((folder / CHART).read_text("utf-8-sig"))), None)
    except (OSError, UnicodeDecodeError, SyntaxError):
        chart = None
    name = chart.get("name") if isinstance(chart, dict) else None
    fits = isinstance(name, str) and is_dns_label(name) and len(name) <= _LONGEST_RELEASE
    return str(name) if fits else "release-name"
