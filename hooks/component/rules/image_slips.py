"""Warnings about a component's images: what they lack, which release they have, and commands that are read wrongly."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.component.image.command_line import CommandLine
from hooks.component.image.contents import MODULE_OF
from hooks.component.image.fit import Lack, LackKind, find_lacks
from hooks.component.image.flags import FRONTEND
from hooks.component.image.names import image_of
from hooks.component.image.programs import find_misreading
from hooks.component.image.runtime_version import (
    NEWEST_KNOWN,
    RuntimeVersion,
    parse_image_version,
    resolve_runtime_version,
    resolve_sidecar_version,
)
from hooks.component.pod.defaults import frontend, resolve_typical
from hooks.component.rules.fragments import MAIN_CONTAINER
from hooks.component.spec.subject import ComponentType
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import slips as rules

_MODULES: Mapping[ComponentType, str] = {
    ComponentType.FRONTEND: FRONTEND,
    ComponentType.PLANNER: "dynamo.planner",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A container as it starts, with where the user wrote it; `envs` are its variables by path."""

    container: Mapping[str, Json]
    path: FieldPath
    version: RuntimeVersion | None
    envs: tuple[tuple[FieldPath, Mapping[str, Json]], ...] = ()


def find_image_slips(spec: ComponentSpec, framework: str) -> Iterator[Problem]:
    """All warnings; the fragments of the spec have the right types."""
    yield from _find_release_slip(spec)
    for one in _find_containers(spec):
        yield from _find_misread(one, spec, framework)
        env = [entry for _, entry in one.envs]
        for lack in find_lacks(one.container, one.version, env):
            yield _say(lack, one)


def _find_release_slip(spec: ComponentSpec) -> Iterator[Problem]:
    """The warning that the image does not say which release of Dynamo the component runs, or one that is not known.

    Upstream 1.5 refuses a new component of the first kind.
    """
    image = spec.main_container.get("image")
    if not image or not isinstance(image, str):
        return
    version, at, field = resolve_runtime_version(spec), MAIN_CONTAINER / "image", SPEC / "runtimeVersionOverride"
    if version is None:
        yield rules.NO_RELEASE.at(at, image=image, field=field)
    elif version.is_newer_than_known and not spec.runtime_version_override and parse_image_version(image) == version:
        yield rules.NEWER_RELEASE.at(at, image=image, newest=str(NEWEST_KNOWN), field=field)


def _find_containers(spec: ComponentSpec) -> Iterator[_Written]:
    """The containers of the pod, with the default command where they have none."""
    version, defaults, main = (
        resolve_runtime_version(spec),
        resolve_typical(spec),
        canonical_fragment(spec.main_container),
    )
    envs = [(SPEC / "envs" / index, entry) for index, entry in enumerate(spec.envs)]
    own = [(MAIN_CONTAINER / "env" / index, entry) for index, entry in enumerate(main.get("env") or ())]
    started = {"command": list(defaults.command), "args": list(defaults.args), **main}
    yield _Written(container=started, path=MAIN_CONTAINER, version=version, envs=(*envs, *own))
    for field in ("containers", "initContainers"):
        for index, container in enumerate(canonical_fragment(spec.extra_pod_spec.get(field) or ())):
            image, path = container.get("image"), SPEC / "extraPodSpec" / field / index
            if image_of(str(image)) is not None:
                found = resolve_sidecar_version(image, version)
                own = [(path / "env" / at, entry) for at, entry in enumerate(container.get("env") or ())]
                yield _Written(container=container, path=path, version=found, envs=tuple(own))
    if (sidecar := spec.frontend_sidecar) is not None:
        release = resolve_sidecar_version(sidecar.image, version)
        ours = frontend.resolve_defaults(release)
        beside = {"image": sidecar.image, "command": list(ours.command), "args": list(sidecar.args or ours.args)}
        yield _Written(container=beside, path=SPEC / "frontendSidecar", version=release)


def _find_misread(one: _Written, spec: ComponentSpec, framework: str) -> Iterator[Problem]:
    found = find_misreading(CommandLine.of(one.container))
    if found is None:
        return
    kind, image = ComponentType.of(spec.component_type), image_of(str(one.container.get("image")))
    module = _MODULES.get(kind) if one.path == MAIN_CONTAINER else FRONTEND
    module = module or (f"dynamo.{framework}" if framework else "") or (MODULE_OF.get(image, "") if image else "")
    command = f"[python3, -m, {module or '<module>'}]"
    rule = rules.ARGUMENTS_UNREAD if found.alone else rules.ARGUMENTS_MISREAD
    yield rule.at(one.path / "args", program=found.program, word=found.word, command=command)


def _say(lack: Lack, one: _Written) -> Problem:
    span, version = str(lack.span), str(one.version)
    image = str(one.container.get("image"))
    remedy = f"write {lack.span.instead}" if lack.span.instead else "remove it"
    path = _path_of(lack, one)
    match lack.part:
        case LackKind.PROGRAM:
            other = "let another program start it, or take an image that has it"
            return rules.PROGRAM_LACKS.at(path, image=image, name=lack.name, span=span, remedy=other)
        case LackKind.MODULE:
            other = f"run {lack.span.instead}" if lack.span.instead else "take an image that has it"
            said = f", which Dynamo has {span}" if span else ", whose engine it does not have"
            return rules.MODULE_LACKS.at(path, image=image, name=lack.name, span=said, remedy=other)
        case LackKind.FLAG:
            return rules.FLAG_LACKS.at(path, module=lack.by, name=lack.name, span=span, version=version, remedy=remedy)
        case LackKind.VARIABLE:
            outcome = "ends at once" if lack.exit_code else "ignores it"
            return rules.VARIABLE_LACKS.at(
                path, module=lack.by, name=lack.name, span=span, version=version, outcome=outcome, remedy=remedy
            )


def _path_of(lack: Lack, one: _Written) -> FieldPath:
    if lack.part is LackKind.VARIABLE:
        return next((path for path, entry in one.envs if entry.get("name") == lack.name), one.path)
    args = [str(word) for word in one.container.get("args") or ()]
    return one.path / ("args" if any(lack.name in word for word in args) else "command")
