"""Who wrote what, by the API server's audit log."""

from tests.cluster.audit_log import ApiCall, AuditLog
from tests.cluster.control_plane import CHART_ACCOUNT, METACONTROLLER, ControlPlane
from tests.contract.backend import Write


class Audit:
    """Reads a control plane's audit log as it grows from now on; a mark is a number of calls."""

    def __init__(self, plane: ControlPlane) -> None:
        self._log = AuditLog(plane.audit_log, from_now=True)
        self._calls: list[ApiCall] = []

    def calls(self) -> list[ApiCall]:
        """Give every write since this reader was made; the policy of the tests logs nothing else."""
        self._calls.extend(self._log.read())
        return self._calls

    def mark(self) -> int:
        """Give a mark for `writes`."""
        return len(self.calls())

    def writes(self, mark: int = 0) -> list[Write]:
        """Give Metacontroller's writes since the mark, in order; those to its own kinds are left out."""
        ours = (call for call in self.calls()[mark:] if call.user in (METACONTROLLER, CHART_ACCOUNT))
        return [Write.of(call) for call in ours if call.group != "metacontroller.k8s.io"]
