"""A control plane whose CRDs serve both versions, converted by a server of the tests."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from hooks.ground import contract
from hooks.language.crds.definitions import build_crds
from hooks.language.versions import CONVERTIBLE_KINDS
from tests import third_party
from tests.cluster.acting_hooks import grant_reads
from tests.cluster.admission import Certificates, admission_server
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.binaries import Binaries
from tests.cluster.control_plane import ControlPlane, control_plane
from tests.cluster.dynamo import GRAPH
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest
from tests.ports import free_port
from tests.waiting import PATIENCE

BETA = f"{contract.GROUP}/{contract.BETA_VERSION}"
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
NAMES = tuple(sorted(f"{kind.lower()}s.{contract.GROUP}" for kind in CONVERTIBLE_KINDS))
"""The CRDs with two versions."""
HOME = "conversion-tests"
"""The namespace of the certificate."""

_COUNT = re.compile(r"^dynamo_hooks_conversions_total\{.*\} (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The control plane, and the server that it asks for the other version."""

    plane: ControlPlane
    server: HttpServer
    certificates: Certificates

    @property
    def admin(self) -> ApiClient:
        return self.plane.client()

    def is_converting(self) -> bool:
        """Whether a v1beta1 request that needs a conversion is answered."""
        try:
            return bool(self.admin.list(BETA, GRAPH, HOME))
        except ApiRefused:
            return False

    def conversions(self) -> float:
        """How many reviews the server has answered since it was started."""
        page = requests.get(
            f"{self.server.url}/metrics", verify=str(self.certificates.folder / "data/ca.crt"), timeout=PATIENCE
        )
        return sum(float(value) for value in _COUNT.findall(page.text))


@contextmanager
def converted_plane(programs: Binaries, folder: Path) -> Iterator[Converted]:
    """Start a control plane with its CRDs, let them trust a certificate, and serve with it."""
    port = free_port()
    crds = [*build_crds({"url": f"https://127.0.0.1:{port}/convert"}), *third_party.crds()]
    with control_plane(programs, folder, crds) as plane:
        admin = plane.client()
        grant_reads(admin)
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
        files = folder / "admission"
        files.mkdir()
        certificates = Certificates(plane=plane, api=admin.within(HOME), folder=files, definitions=NAMES)
        said = certificates.renew()
        assert [f"customresourcedefinitions/{name} trusts the certificate now" for name in NAMES] == said[:-1]
        server = admission_server(files, "conversion", port)
        converted = Converted(plane=plane, server=server, certificates=certificates)
        try:
            server.start()
            admin.within(HOME).create(paused_graph())
            wait_for(converted.is_converting, "objects are converted")
            yield converted
        finally:
            server.stop()


@contextmanager
def storing_v1beta1(admin: ApiClient) -> Iterator[None]:
    """Let the CRDs store v1beta1, as those of the Go operator 1.5 do; afterwards they are as before."""
    before = {name: _spec_of(admin, name) for name in NAMES}
    for name, spec in before.items():
        versions = [{**one, "storage": one["name"] == "v1beta1"} for one in spec["versions"]]
        admin.patch(*DEFINITION, name, {"spec": {"versions": versions}})
    try:
        yield
    finally:
        for name, spec in before.items():
            admin.patch(*DEFINITION, name, {"spec": {key: spec[key] for key in ("versions", "conversion")}})


def _spec_of(admin: ApiClient, name: str) -> Manifest:
    """The spec of a CRD."""
    definition = admin.get(*DEFINITION, name)
    assert definition is not None
    spec: Manifest = definition["spec"]
    return spec


def paused_graph(name: str = "lookout") -> Manifest:
    """A graph that no controller looks at, because it belongs to an installation that does not run."""
    metadata = {"name": name, "labels": {contract.LABEL_INSTALLATION: "none"}}
    worker = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": "vllm:1"}}}
    spec = {"services": {"Worker": worker}}
    return {"apiVersion": f"{contract.GROUP}/{contract.VERSION}", "kind": GRAPH, "metadata": metadata, "spec": spec}
