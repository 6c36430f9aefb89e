"""What a check found: about which object, how bad it is, and the command that mends it."""

from dataclasses import dataclass
from enum import StrEnum

from hooks.ground.k8s.types import ReadManifest


class Level(StrEnum):
    """An error keeps graphs from being served or changed; a warning may do so some day."""

    ERROR = "error"
    WARNING = "warning"
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding; `check` is the name of the check, `remedy` a command, empty if nothing is to be done."""

    level: Level
    object: str
    finding: str
    remedy: str = ""
    check: str = ""


def ok(about: str, finding: str) -> Finding:
    """Something that was checked and is good."""
    return Finding(level=Level.OK, object=about, finding=finding)


def warning(about: str, finding: str, remedy: str) -> Finding:
    """Something that may become a problem, or that could not be checked."""
    return Finding(level=Level.WARNING, object=about, finding=finding, remedy=remedy)


def error(about: str, finding: str, remedy: str) -> Finding:
    """Something that does not work."""
    return Finding(level=Level.ERROR, object=about, finding=finding, remedy=remedy)


def describe(manifest: ReadManifest) -> str:
    """`Deployment dynamo-system/dynamo-hooks`: an object as findings name it."""
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace")
    return (
        f"{manifest['kind']} {namespace}/{metadata['name']}" if namespace else f"{manifest['kind']} {metadata['name']}"
    )
