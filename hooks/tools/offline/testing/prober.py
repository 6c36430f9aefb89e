"""What a prober reports, decided by a test: no engine is called."""

from collections.abc import Callable

from hooks.model.prober.messages import AdapterPhase, EndpointReport, LoadReport, LoadRequest
from hooks.model.seen.pod_addresses import OWN, NamedAddress, Verdicts

Prober = Callable[[LoadRequest], LoadReport]
"""What the prober reports on the wanted adapters; raises `ProberUnavailable`."""


def believe_addresses(addresses: tuple[NamedAddress, ...]) -> Verdicts:
    """Every address is that of its pod, as EndpointSlices say; no API server is asked."""
    return dict.fromkeys(addresses, OWN)


def report_phase(phase: AdapterPhase | str, error: str = "") -> Prober:
    """A prober that reports this phase for every engine; `error` is the text of the last failure."""
    named = AdapterPhase(phase)

    def report(wanted: LoadRequest) -> LoadReport:
        source = wanted.adapter.uri if wanted.adapter is not None and named.is_ready else ""
        return LoadReport(
            endpoints=tuple(
                EndpointReport(address=target.address, phase=_phase_of(wanted, named), last_error=error, source=source)
                for target in wanted.targets
            )
        )

    return report


def _phase_of(wanted: LoadRequest, phase: AdapterPhase) -> AdapterPhase:
    """Without a wanted adapter, an engine that works has unloaded the former ones."""
    return AdapterPhase.UNLOADED if wanted.adapter is None and phase.is_ready else phase
