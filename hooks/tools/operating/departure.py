"""Prepares the end of an installation, so that no object hangs on a finalizer that is never removed.

Metacontroller removes its finalizer from a parent only while the parent's controller exists. So the controllers are
deleted first, because Metacontroller would add the finalizers again, and then the finalizers are removed. Parents,
their children and the pods stay as they are. The webhooks are deleted before: they would be asked about each removal.

A CRD whose conversion webhook these hooks answer stops to serve v1beta1. Otherwise the API server would go on asking a
Service that is gone, and no namespace could be deleted. Objects are stored as v1alpha1, so nothing is lost. While some
name their owners by v1beta1, it stays served, without a webhook: the garbage collector looks for owners there.

Objects of a namespace-restricted installation keep its label, so no other installation serves them. They are named with
the command that hands them to the installation for the whole cluster: whether it is to serve them is not decided here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.language.crds.versions import find_conversion_patch, find_foreign_storage, find_serving_patch
from hooks.server.clients.api_server import Conversation, Refused, collection_path, read_pages
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.foreign_owners import find_foreign_owned
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.metacontroller.installation import (
    command_to_free_all,
    command_to_release,
    name_finalizer,
    read_installation,
)

SETTLE_SECONDS = 3.0
"""How long Metacontroller may take to stop a deleted controller, which until then adds its finalizer again."""

_ROUNDS = 20
_ATTEMPTS = 3


Talk = Conversation | Cluster
"""Who asks the API server: a pod's account, or a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """An installation that is about to be removed.

    `namespace` restricts the parents to a namespace; empty for all. `webhooks` is the name of its webhook
    configurations; empty for none. `definitions` are the names of CRDs that these hooks convert. `wait` waits some
    seconds.
    """

    talk: Talk
    installation: str
    namespace: str
    webhooks: str
    wait: Callable[[float], None]
    definitions: tuple[str, ...] = ()

    def prepare(self) -> Iterator[str]:
        """Delete webhooks and controllers, then remove the finalizers until none comes back; yields what was done.

        At the end it names the objects that no installation serves any more.

        Raises:
            Refused: the API server refused some of it, or finalizers keep coming back; all that was possible was done.
        """
        for path in (*self._webhooks(), *self._controllers()):
            answer = self.talk.ask("DELETE", path, also=(HTTPStatus.NOT_FOUND,))
            if answer.status != HTTPStatus.NOT_FOUND:
                yield f"{path.rpartition('/apis/')[2]} was deleted"
        yield from (said for name in self.definitions if (said := self._drop_version(name)))
        for _ in range(_ROUNDS):
            self.wait(SETTLE_SECONDS)
            removed = list(self.remove_finalizers())
            yield from removed
            if not removed:
                yield from self.name_unserved()
                return
        raise Refused(
            "finalizers come back as fast as they are removed: something still runs the controllers; "
            "stop Metacontroller (kubectl -n metacontroller scale statefulset --all --replicas=0) and try again"
        )

    def _drop_version(self, name: str) -> str:
        """Let a CRD serve v1alpha1 only; what was done, empty if it does so already or does not exist."""
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        for _ in range(_ATTEMPTS):
            found = self._get(path)
            if not found or not (patch := find_serving_patch(found)):
                return ""
            if foreign := find_foreign_storage(found):
                return f"{name} stays as it is: objects may be stored as {', '.join(foreign)}"
            named = self._name_foreign_owned()
            patch = find_conversion_patch(found) if named else patch
            said = (
                f"goes on serving {contract.BETA_VERSION}, unconverted: {named}"
                if named
                else f"serves {contract.VERSION} only"
            )
            if not patch:
                return f"{name} {said}"
            change = {**patch, "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}}
            answer = self.talk.ask("PATCH", path, change, also=(HTTPStatus.CONFLICT,))
            if answer.status != HTTPStatus.CONFLICT:
                return f"{name} {said}"
        raise Refused(f"PATCH {path}: others write it at the same time; try again")

    def _name_foreign_owned(self) -> str:
        """Why no version may stop being served; empty if all objects name their owners by v1alpha1."""
        found = find_foreign_owned(self._get)
        if found.unread:
            return f"it is not known which objects name their owners by it, because {'; '.join(found.unread)}"
        return found.sentence

    def _get(self, path: str, query: Mapping[str, str | int] | None = None) -> Mapping[str, Any] | None:
        """The JSON object at a path; None if there is nothing."""
        asked = f"{path}?{urlencode(query)}" if query else path
        answer = self.talk.ask("GET", asked, also=(HTTPStatus.NOT_FOUND,))
        return None if answer.status == HTTPStatus.NOT_FOUND else answer.body

    def remove_finalizers(self) -> Iterator[str]:
        """Remove the controllers' finalizers from all parents; yields a sentence for each parent that had one.

        Raises:
            Refused: the API server refused, for the reasons given; the finalizers of all other parents are removed.
        """
        refused: list[str] = []
        for kind in OUR_KINDS:
            for found in self._list(kind):
                metadata = found["metadata"]
                try:
                    if self._remove_from(kind, found):
                        yield f"{kind.kind} {metadata['namespace']}/{metadata['name']} has lost its finalizer"
                except Refused as error:
                    refused.append(str(error))
        if refused:
            raise Refused("; ".join(refused))

    def name_unserved(self) -> Iterator[str]:
        """A sentence for each object that has the installation's label, and the commands that remove the label.

        Raises:
            Refused: the API server refused.
        """
        if not self.installation:
            return
        kinds: dict[str, list[str]] = {}
        for kind in OUR_KINDS:
            for found in self._list(kind):
                if read_installation(found) == self.installation:
                    namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
                    kinds.setdefault(namespace, []).append(kind.kind)
                    yield f"{kind.kind} {namespace}/{name} keeps the label of {self.installation}: nothing serves it"
        for namespace, found_kinds in sorted(kinds.items()):
            command = command_to_free_all(found_kinds, namespace, self.installation)
            yield f"so that the installation for the whole cluster serves them: {command}"
        if self.namespace:
            yield f"if namespace {self.namespace} has the label too: {command_to_release(self.namespace)}"

    def _remove_from(self, kind: GroupVersionKind, found: Manifest) -> bool:
        """Whether it had a finalizer of ours; a patch with another resourceVersion is refused, so nobody's is lost."""
        path = f"{collection_path(kind, found['metadata']['namespace'])}/{found['metadata']['name']}"
        current: Any = found
        for _ in range(_ATTEMPTS):
            metadata = current["metadata"]
            rest = [name for name in metadata.get("finalizers") or () if name not in self._finalizers()]
            if len(rest) == len(metadata.get("finalizers") or ()):
                return current is not found
            change = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": rest}}
            answer = self.talk.ask("PATCH", path, change, also=(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))
            if answer.status != HTTPStatus.CONFLICT:
                return True
            current = self._get(path)
            if current is None:
                return True
        raise Refused(f"PATCH {path}: others write it at the same time; try again")

    def _list(self, kind: GroupVersionKind) -> Iterator[Manifest]:
        """All parents of a kind, page by page; none if the kind is not installed."""
        path, absent = collection_path(kind, self.namespace), (HTTPStatus.NOT_FOUND,)
        for page in read_pages(lambda asked: self.talk.ask("GET", f"{path}?{urlencode(asked)}", also=absent)):
            yield from page.body.get("items") or ()

    def _controllers(self) -> list[str]:
        found = install_files.controllers("", installation=self.installation)
        return [f"/apis/{c['apiVersion']}/{c['kind'].lower()}s/{c['metadata']['name']}" for c in found]

    def _finalizers(self) -> frozenset[str]:
        found = install_files.controllers("", installation=self.installation)
        return frozenset(map(name_finalizer, found))

    def _webhooks(self) -> list[str]:
        if not self.webhooks:
            return []
        group = "/apis/admissionregistration.k8s.io/v1"
        return [f"{group}/{sort}webhookconfigurations/{self.webhooks}" for sort in ("validating", "mutating")]
