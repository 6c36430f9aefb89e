"""`kubectl dynamo ask`: one real chat completion by a graph, and how long it took."""

import sys
from collections.abc import Iterator, Mapping
from functools import partial

import click
import orjson

from hooks.graph.report.serving_reasons import SERVING
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json, ReadManifest, name_of
from hooks.tools.cli.cluster_options import Connection, connection_options
from hooks.tools.cli.kubectl.target import (
    NotPossible,
    Target,
    graph_argument,
    list_names,
    namespace_of_graph,
    open_graph,
)
from hooks.tools.offline.manifests.writing import guard_output
from hooks.tools.operating import serving
from hooks.tools.operating.chat import ChatFailed, ChatQuestion, Measured, list_models, stream_chat
from hooks.tools.operating.frontends import Frontend, find_frontends
from hooks.tools.operating.live_reader import LiveReader

_SECONDS = 60.0
_INTERRUPTED = 130
_LONGEST = 400


@click.command(
    epilog="""\b
Examples:
  kubectl dynamo ask llm "Why is the sky blue?"
  kubectl dynamo ask llm --model Qwen/Qwen3-0.6B --max-tokens 200 "Why is the sky blue?"
  kubectl dynamo ask llm -o json Hello | jq .firstTokenSeconds"""
)
@graph_argument
@click.argument("text", metavar="TEXT")
@click.option("--model", default="", metavar="NAME", help="Default: the only one that the graph serves.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1, max=100_000),
    default=64,
    show_default=True,
    metavar="N",
    help="The most tokens of the answer.",
)
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print the answer and its times as one JSON object.")
@namespace_of_graph
@partial(connection_options, seconds=_SECONDS, limited="the whole answer, and for each other one")
def ask(  # noqa: PLR0913 - one for each option
    *,
    name: str,
    text: str,
    model: str,
    max_tokens: int,
    output: str | None,
    namespace: str,
    connection: Connection,
) -> None:
    """Send one chat completion to a graph, and print the answer as it comes.

    A ready frontend pod is asked through the API server, which takes the rights get and create of pods/proxy. The
    answer alone is on standard output. After it, standard error has a line with the model, the frontend, the seconds to
    the first part and to the end, the tokens, and the worker where the runtime tells it. The exit status is 1 if there
    is no answer.
    """
    with open_graph(connection, namespace, name) as target:
        try:
            frontend = _choose_frontend(target)
            chosen = model or _choose_model(target, frontend)
            asked = ChatQuestion(model=chosen, text=text, max_tokens=max_tokens, seconds=connection.timeout)
            with guard_output():
                _ask(target, frontend, asked, is_json=output == "json")
        except ChatFailed as failed:
            raise NotPossible(f"{failed}{_remark(target)}") from failed
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)


def _ask(target: Target, frontend: Frontend, asked: ChatQuestion, *, is_json: bool) -> None:
    """Print the answer, and what was measured.

    Raises:
        ChatFailed: there is none, or it broke off.
    """
    measured, text = Measured(), ""
    is_begun = False
    try:
        for part in stream_chat(target.cluster, frontend, asked, measured):
            is_begun = True
            if is_json:
                text += part
            else:
                click.echo(part, nl=False)
    finally:
        if is_begun and not is_json:
            click.echo()
    workers = _name_workers(target, measured.workers)
    if is_json:
        click.echo(
            orjson.dumps(_as_json(asked, frontend, measured, workers=workers, text=text), option=orjson.OPT_INDENT_2)
        )
    else:
        click.echo(_summarize(asked, frontend, measured, workers), err=True)


def _choose_frontend(target: Target) -> Frontend:
    """The first ready frontend pod.

    Raises:
        NotPossible: there is none.
    """
    labelled = f"{contract.LABEL_GRAPH}={target.name}"
    found = find_frontends(target.cluster.read_all(kinds.POD, target.namespace, labelSelector=labelled))
    ready = [one for one in found if one.is_ready]
    if ready:
        return ready[0]
    has = f"none of its frontend pods {list_names(one.pod for one in found)} is ready" if found else "it has no pod"
    raise NotPossible(f"no frontend of graph {target.name} can be asked: {has}{_remark(target)}")


def _choose_model(target: Target, frontend: Frontend) -> str:
    """The only model that the graph serves, or else that the frontend lists.

    Raises:
        NotPossible: there is none, or there are several.
        ChatFailed: the frontend does not list them.
    """
    known = serving.list_models(target.graph) or list_models(target.cluster, frontend)
    if len(known) > 1:
        raise NotPossible(f"graph {target.name} serves {list_names(known)}; choose one with --model")
    if not known:
        raise NotPossible(f"frontend {frontend.pod} lists no model{_remark(target)}")
    return known[0]


def _remark(target: Target) -> str:
    """What the graph's status says about why nothing answers; empty if it says nothing."""
    conditions = (target.graph.get("status") or {}).get("conditions") or ()
    for kind in (SERVING, READY):
        found: Mapping[str, Json] = find_condition(conditions, kind) or {}
        if found.get("status") == "False" and found.get("message"):
            return f"; {kind} of graph {target.name} is False: {one_line(str(found['message']), _LONGEST)}"
    return ""


def _name_workers(target: Target, workers: Mapping[str, int]) -> dict[str, str]:
    """By what they did the workers: their pods where these registered in the cluster, else their numbers."""
    if not workers:
        return {}
    reader = LiveReader(cluster=target.cluster)
    found = reader.read_all("the records of workers", contract.WORKER_METADATA, target.namespace)
    pods = {number: name_of(one) for one in found for number in _find_numbers(one)}
    return {role: pods.get(number, f"{number:x}") for role, number in workers.items()}


def _find_numbers(record: ReadManifest) -> Iterator[int]:
    """The numbers of a worker's endpoints: the last part of their keys, in hexadecimal digits."""
    data = (record.get("spec") or {}).get("data")
    endpoints = data.get("endpoints") if isinstance(data, dict) else None
    for key in endpoints if isinstance(endpoints, dict) else ():
        try:
            yield int(str(key).rpartition("/")[2], 16)
        except ValueError:
            continue


def _summarize(asked: ChatQuestion, frontend: Frontend, measured: Measured, workers: Mapping[str, str]) -> str:
    first = "no text" if measured.first_seconds is None else f"first token after {measured.first_seconds:.2f} s"
    return ", ".join(
        filter(
            None,
            (
                f"model {asked.model}",
                f"frontend {frontend.pod}",
                first,
                f"all after {measured.seconds:.2f} s",
                f"{measured.tokens} tokens" if measured.tokens is not None else "",
                _describe_workers(workers),
            ),
        )
    )


def _describe_workers(workers: Mapping[str, str]) -> str:
    if len(set(workers.values())) == 1:
        return f"worker {next(iter(workers.values()))}"
    return ", ".join(f"{role} worker {name}" for role, name in workers.items())


def _as_json(
    asked: ChatQuestion, frontend: Frontend, measured: Measured, *, workers: Mapping[str, str], text: str
) -> dict[str, Json]:
    return {
        "model": asked.model,
        "frontend": frontend.pod,
        "firstTokenSeconds": measured.first_seconds,
        "seconds": measured.seconds,
        "tokens": measured.tokens,
        "workers": dict(workers),
        "text": text,
    }
