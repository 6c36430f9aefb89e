"""The contract cases on a real Metacontroller: what the in-memory cluster plays is what the real one does."""

from collections.abc import Iterator

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.processes import Server
from tests.cluster.real_backend import RealBackend, real_backend
from tests.contract.cases import CASES, Case


@pytest.fixture
def backend(plane: ControlPlane, metacontroller: Server) -> Iterator[RealBackend]:
    with real_backend(plane) as backend:
        yield backend


@pytest.mark.sampled(every=3)  # the in-memory cluster is asked all of them each time
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_real_metacontroller_keeps_the_contract(case: Case, backend: RealBackend) -> None:
    case(backend)
