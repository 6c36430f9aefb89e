"""Reads a CompositeController or DecoratorController, as far as the simulator needs it.

Source: Metacontroller v4.17, pkg/apis/metacontroller/v1alpha1/types.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.resources import Catalogue, Resource, UnknownKind
from hooks.wire.metacontroller.controllers import Strategy
from hooks.wire.world.selectors import matches


class ControllerNotStarted(Exception):
    """Metacontroller would not start this controller, or the simulator does not support it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentRule:
    """One kind of parent, and the selectors of its objects."""

    resource: Resource
    label_selector: Mapping[str, Any] | None = None
    annotation_selector: Mapping[str, Any] | None = None
    ignore_status_changes: bool = False

    def selects(self, parent: Manifest) -> bool:
        """Whether labels and annotations satisfy the selectors."""
        metadata = parent["metadata"]
        return matches(self.label_selector, metadata.get("labels") or {}) and matches(
            self.annotation_selector, metadata.get("annotations") or {}, exact="matchAnnotations"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSpec:
    """A controller with its kinds resolved; `methods` is the update strategy of every declared child kind."""

    name: str
    composite: bool
    manifest: Manifest
    parents: Mapping[GroupVersionKind, ParentRule]
    methods: Mapping[GroupVersionKind, Strategy]
    generate_selector: bool
    resync_seconds: float | None
    paths: Mapping[str, str]

    @property
    def finalizer(self) -> str:
        """The finalizer that this controller puts on its parents."""
        kind = "compositecontroller" if self.composite else "decoratorcontroller"
        return f"metacontroller.io/{kind}-{self.name}"

    def rule_for(self, parent: Manifest) -> ParentRule:
        """The rule for a parent's kind; KeyError if the controller has none."""
        return self.parents[GroupVersionKind.of(parent["apiVersion"], parent["kind"])]

    def handles(self, parent: Manifest) -> bool:
        """Whether a parent is selected or still carries the controller's finalizer."""
        held = self.finalizer in parent["metadata"].get("finalizers", [])
        return held or self.rule_for(parent).selects(parent)


def parse_controller(manifest: Manifest, catalogue: Catalogue) -> ControllerSpec:
    """Read a controller and resolve its kinds.

    Raises:
        ControllerNotStarted: a kind is not installed, the parent has no status subresource, a hook is not of version
            v2, or a strategy is Rolling*, which is broken for namespaced parents and therefore not simulated.
    """
    spec, name = manifest["spec"], manifest["metadata"]["name"]
    composite = manifest["kind"] == "CompositeController"
    try:
        parents = _read_parents(spec, catalogue, composite=composite)
        methods = _read_children(spec["childResources" if composite else "attachments"], catalogue)
    except UnknownKind as unknown:
        raise ControllerNotStarted(f"{manifest['kind']} {name}: {unknown}") from None
    except KeyError as missing:
        raise ControllerNotStarted(f"{manifest['kind']} {name}: spec lacks {missing}") from None
    return ControllerSpec(
        name=name,
        composite=composite,
        manifest=manifest,
        parents=parents,
        methods=methods,
        generate_selector=spec.get("generateSelector", False),
        resync_seconds=max(1, spec["resyncPeriodSeconds"]) if "resyncPeriodSeconds" in spec else None,
        paths={stage: _read_path(name, stage, hook) for stage, hook in spec["hooks"].items()},
    )


def _read_parents(
    spec: Mapping[str, Any], catalogue: Catalogue, *, composite: bool
) -> dict[GroupVersionKind, ParentRule]:
    entries = [spec["parentResource"]] if composite else spec["resources"]
    rules = {}
    for entry in entries:
        resource = catalogue.by_plural(entry["apiVersion"], entry["resource"])
        if composite and not (resource.custom and resource.status):
            raise ControllerNotStarted(
                f"{resource.plural}: a composite's parent must be a CRD with a status subresource"
            )
        rules[resource.kind] = ParentRule(
            resource=resource,
            label_selector=entry.get("labelSelector"),
            annotation_selector=entry.get("annotationSelector"),
            ignore_status_changes=entry.get("ignoreStatusChanges", False),
        )
    return rules


def _read_children(entries: list[Mapping[str, Any]] | None, catalogue: Catalogue) -> dict[GroupVersionKind, Strategy]:
    methods: dict[GroupVersionKind, Strategy] = {}
    for entry in entries or []:
        method = entry.get("updateStrategy", {}).get("method", "OnDelete")
        if method not in Strategy.__members__.values():
            raise ControllerNotStarted(f"{entry['resource']}: update strategy {method} is not simulated")
        methods[catalogue.by_plural(entry["apiVersion"], entry["resource"]).kind] = Strategy(method)
    return methods


def _read_path(controller: str, stage: str, hook: Mapping[str, Any]) -> str:
    if hook.get("version") != "v2":
        raise ControllerNotStarted(f"{controller}: hook {stage} is not of version v2")
    webhook = hook["webhook"]
    if "url" not in webhook:
        return str(webhook["path"])
    parts = urlsplit(webhook["url"])
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
