"""The differences from upstream's operator 1.5.0 that are known, each with its reason; a page shows them.

An entry that matches nothing any more is to be removed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.upstream.comparison import Difference, How

_PAGE = Path(__file__).parents[2] / "docs/compatibility.md"
_PART = re.compile(r"(<!-- differences -->\n).*?(<!-- /differences -->)", re.DOTALL)
_ENGINES = frozenset({"worker", "prefill", "decode"})
_PLANNER, _PICKER, _FRONTEND = frozenset({"planner"}), frozenset({"epp"}), frozenset({"frontend"})
_NONE = frozenset({""})


@dataclass(frozen=True, kw_only=True)
class Known:
    """Differences of one reason: `what` is a pattern, `of` are the types of components, empty for all."""

    what: str
    how: How
    reason: str
    of: frozenset[str] = field(default_factory=frozenset)
    here: str = ".*"
    there: str = ".*"

    def matches(self, found: Difference) -> bool:
        """Whether the entry is about this difference."""
        values = ((self.what, found.what), (self.here, found.here), (self.there, found.there))
        return (
            found.how is self.how
            and (not self.of or found.of in self.of)
            and all(re.fullmatch(pattern, text, re.DOTALL) for pattern, text in values)
        )


def _refused(rule: str, reason: str) -> Known:
    return Known(what=f"rule {rule}", how=How.REFUSED_HERE, reason=reason)


def _of_a_release(what: str, how: How, release: str, of: frozenset[str] = frozenset()) -> Known:
    return Known(what=what, how=how, of=of, reason=f"by the release of the image: from {release} on")


_BY_RELEASE = (
    _of_a_release("annotation nvidia.com/dynamo-(discovery-backend|operator-origin-version)", How.THERE, "1.0"),
    _of_a_release("env (DYN_FORWARDPASS_METRIC_PORT|NIXL_TELEMETRY_.*)|port nixl", How.THERE, "1.0", _ENGINES),
    _of_a_release("env DYN_COMPONENT|label nvidia.com/dynamo-component-type", How.OTHER, "1.0", _ENGINES),
    _of_a_release("env DYN_STORE_KV( of sidecar-frontend)?", How.HERE, "1.0"),
    _of_a_release("env DYN_NAMESPACE_PREFIX", How.THERE, "1.0.2", _FRONTEND),
    _of_a_release("env DYN_NAMESPACE_PREFIX|env DYN_ENFORCE_DISAGG", How.THERE, "1.5", _PICKER),
    _of_a_release("env RUST_LOG|container startupProbe", How.OTHER, "1.5", _PICKER),
)

_OWN_MEMORY = "a volume that the user mounts at `/dev/shm` stays; there 8Gi of memory replace it"

KNOWN: tuple[Known, ...] = (
    _refused("gpu-memory-service", "the GPU memory service needs Dynamic Resource Allocation"),
    _refused("template", "a file of a page with `${RELEASE_VERSION}` as its tag, which the API server would store"),
    _refused("failover", "failover between engines needs the GPU memory service"),
    _refused("kv-transfer-policy", "topologies of KV transfers are not made"),
    _refused("epp-config-native", "a picker of 1.5 reads no `eppConfig`; the operator 1.6 refuses it too"),
    _refused("namespace", "an API server refuses a placeholder such as `<your-namespace>`; none was asked there"),
    Known(
        what="verdict",
        how=How.REFUSED_THERE,
        there=".*ClusterTopologyBinding resource that was not found",
        reason="admission reads no ClusterTopologyBinding; the condition Valid follows it",
    ),
    Known(
        what="env DYN_NAMESPACE_WORKER_SUFFIX|label nvidia.com/dynamo-worker-hash",
        how=How.OTHER,
        of=_ENGINES,
        reason="the generation of workers is a hash of other fields",
    ),
    Known(
        what="env DYN_NAMESPACE_WORKER_SUFFIX|label nvidia.com/dynamo-worker-hash",
        how=How.THERE,
        of=_ENGINES,
        reason="workers have no generation where something of the graph might not see them: a release before 1.0.2, "
        "no frontend, a program of no known type",
    ),
    Known(
        what="container livenessProbe",
        how=How.OTHER,
        of=_ENGINES,
        here='.*"failureThreshold": 3, .*',
        there='.*"failureThreshold": 1, .*',
        reason="from 1.5 on a worker restarts after 3 failed probes, as under the operator 1.6",
    ),
    Known(
        what="env DYN_HEALTH_CHECK_ENABLED",
        how=How.OTHER,
        of=_ENGINES,
        here='{"value": "true"}',
        there='{"value": "false"}',
        reason="from 1.5 on workers have canary health checks, as under the operator 1.6",
    ),
    Known(
        what="container (startup|liveness|readiness)Probe|env DYN_SYSTEM_PORT|port system",
        how=How.THERE,
        of=_PLANNER,
        reason="a planner has its system port and probes from 1.6 on",
    ),
    Known(
        what="pod serviceAccountName",
        how=How.OTHER,
        of=_PLANNER | _PICKER,
        reason="each graph has accounts of its own for planner and picker",
    ),
    Known(
        what="container startupProbe",
        how=How.OTHER,
        of=_ENGINES,
        there='{"initialDelaySeconds": [0-9]+}',
        reason="a probe without a handler changes the default probe; there an API server refuses the pod",
    ),
    Known(
        what="mount /ssh-pk",
        how=How.OTHER,
        of=_ENGINES,
        here='.*-mpi-ssh".*',
        there='.*"mpi-run-ssh-secret".*',
        reason="each graph has a copy of the SSH key of its own",
    ),
    Known(
        what="volume mpi-run-ssh-secret", how=How.THERE, of=_ENGINES, reason="the Secret of the SSH key is the graph's"
    ),
    Known(what="volume .*-mpi-ssh", how=How.HERE, of=_ENGINES, reason="the Secret of the SSH key is the graph's"),
    Known(
        what="command line",
        how=How.OTHER,
        of=_ENGINES,
        here=".*(mpirun|sshd) .*",
        there=".*(mpirun|sshd) .*",
        reason="the script that starts MPI has words of its own",
    ),
    Known(
        what="command line of wait-for-leader-mp",
        how=How.OTHER,
        of=_ENGINES,
        reason="the wait for a leader is Python without a ConfigMap",
    ),
    Known(
        what="mount /scripts of wait-for-leader-mp|volume wait-leader-script",
        how=How.THERE,
        of=_ENGINES,
        reason="the wait for a leader is Python without a ConfigMap",
    ),
    Known(
        what="container (securityContext|imagePullPolicy) of wait-for-leader-mp",
        how=How.HERE,
        of=_ENGINES,
        reason="the wait for a leader runs as the main container does",
    ),
    Known(
        what="label role",
        how=How.HERE,
        of=_ENGINES,
        here="leader|worker",
        reason="pods of a replica over several nodes say which role they have",
    ),
    Known(
        what="label nvidia.com/selector",
        how=How.OTHER,
        of=_ENGINES,
        here=".*-(ldr|wkr)",
        reason="each clique of several nodes has a selector of its own",
    ),
    Known(
        what="env (DYNAMO|DYN)_KV_BLOCK_SIZE",
        how=How.HERE,
        of=_PICKER,
        reason="a picker gets both names of the block size",
    ),
    Known(
        what="pod terminationGracePeriodSeconds",
        how=How.OTHER,
        of=_ENGINES,
        here="100",
        there="60",
        reason="an engine of 1.x takes up to 90 s to drain",
    ),
    Known(what="env DYN_COMPONENT", how=How.THERE, of=_NONE, there="{}", reason="an empty value says no component"),
    Known(
        what="command line|container args",
        how=How.OTHER,
        of=_ENGINES,
        here=".*(--enable-elastic-ep|:6379 --block).*",
        there=".*(--enable-elastic-ep|:6379 --block).*",
        reason="the script that waits for Ray has words of its own",
    ),
    Known(
        what="mount /dev/shm",
        how=How.OTHER,
        of=_ENGINES,
        there='{"name": "shared-memory"}',
        reason=_OWN_MEMORY,
    ),
    Known(
        what="volume shared-memory",
        how=How.OTHER,
        of=_ENGINES,
        here='.*"medium": "Memory".*',
        there='.*"sizeLimit": "8Gi".*',
        reason=_OWN_MEMORY,
    ),
    Known(
        what="volume shared-memory",
        how=How.THERE,
        of=_ENGINES,
        there='.*"sizeLimit": "8Gi".*',
        reason=_OWN_MEMORY,
    ),
    *_BY_RELEASE,
)


def find_unknown(found: Iterable[Difference], known: Sequence[Known] = KNOWN) -> list[Difference]:
    """The differences that no entry is about."""
    return [one for one in found if not any(entry.matches(one) for entry in known)]


def find_stale(found: Sequence[Difference], known: Sequence[Known] = KNOWN) -> list[Known]:
    """The entries that are about no difference."""
    return [entry for entry in known if not any(map(entry.matches, found))]


def write_table(known: Iterable[Known] = KNOWN) -> str:
    """The list as a table of the page."""
    rows = ["| what | of | how | why |", "|---|---|---|---|"]
    for entry in known:
        what = entry.what.replace("|", " or ")
        of = ", ".join(sorted(entry.of - {""})) or ("no type" if entry.of else "all")
        rows.append(f"| `{what}` | {of} | {entry.how.value} | {entry.reason} |")
    return "\n".join(rows) + "\n"


def update_page() -> str:
    """The page with the list as it is."""
    return _PART.sub(lambda part: f"{part[1]}{write_table()}{part[2]}", _PAGE.read_text(encoding="utf-8"))


def read_page() -> str:
    """The page as it is stored."""
    return _PAGE.read_text(encoding="utf-8")


def store_page(text: str) -> None:
    """Write the page."""
    _PAGE.write_text(text, encoding="utf-8")
