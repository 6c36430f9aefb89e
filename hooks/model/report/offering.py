"""Whether the frontends of the graphs whose engines have an adapter offer it to their clients, and what to do if not.

An engine that has an adapter tells the frontends so by itself, which may fail, and then no request names the adapter. A
frontend says by its list what it offers, never how many workers have it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from hooks.ground.k8s.conditions import READY, is_true
from hooks.ground.k8s.messages import list_names
from hooks.ground.k8s.types import Json
from hooks.model.prober.messages import GraphOffer

REGISTERED_SECONDS = 10.0
"""So long after the load an engine may take until each frontend offers the adapter."""


def explain_offers(
    offers: Iterable[GraphOffer], loaded: Iterable[str], previous: Mapping[str, Json], now: datetime
) -> str:
    """Why clients cannot use an adapter that all engines have; empty if they can, or if nothing is known.

    `loaded` are the times at which the engines had it. A model that was ready stays so until a frontend says what it
    offers after the time that an engine may take.
    """
    lacking = [one for one in offers if not all(frontend.is_offered for frontend in one.frontends)]
    if not lacking:
        return ""
    since = max(map(datetime.fromisoformat, filter(None, loaded)), default=now) + timedelta(seconds=REGISTERED_SECONDS)
    silent = [frontend for one in lacking for frontend in one.frontends if not frontend.is_offered]
    is_late = any(now - timedelta(seconds=one.age) >= since for one in silent)
    if not is_late and is_true(previous.get("conditions") or (), READY):
        return ""
    remedy = _REMEDY if is_late else "a frontend hears of it within seconds"
    return f"{'; '.join(map(_describe, lacking))}; {remedy}"


_REMEDY = (
    "see the logs of its workers, which tell the frontends what they have, and of the frontend; a worker that starts "
    "again gets the adapter again, and tells them"
)


def explain_misses(offers: Iterable[GraphOffer]) -> tuple[str, ...]:
    """Sentences about requests for an adapter that only some engines have; () if none fail by that."""
    graphs = [one.graph for one in offers if not one.chooses_by_adapter and any(f.is_offered for f in one.frontends)]
    if not graphs:
        return ()
    sentence = (
        f"requests for it that reach other workers fail: frontends of {list_names(graphs)} send them to any worker; "
        "with DYN_LORA_ENABLED=true a frontend sends them only to workers that have it"
    )
    return (sentence,)


def _describe(offer: GraphOffer) -> str:
    silent = list_names([one.pod for one in offer.frontends if not one.is_offered])
    if any(one.is_offered for one in offer.frontends):
        return (
            f"The engines have it, and of the frontends of graph {offer.graph} {silent} does not offer it, so part of "
            "the requests for it fails"
        )
    return f"The engines have it, and no frontend of graph {offer.graph} offers it to clients (asked: {silent})"
