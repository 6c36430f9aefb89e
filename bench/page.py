"""`python -m bench.page [--lines FILE] [RESULT…]`: writes the tables of docs/benchmarks.md from what the benches wrote.

A result is a file of bench/results/, by default all: of each bench the newest counts, of `make bench-cluster` the
newest for each number of graphs.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench.resync import find_period

Result = Mapping[str, Any]

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
RELIABILITY = PAGE.with_name("reliability.md")
"""The page whose tables are those of faults, of damaged inputs and of a long load."""
RESULTS = Path(__file__).parent / "results"
"""Their names end with the time, so the newest of a bench is the last."""
_VERDICT = re.compile(r"(reached|missed) +(.*)")
_GRAPHS, _COMPONENTS = "dynamographdeployments", "dynamocomponentdeployments"
_DEAREST = 8
"""So many rules of graphs are on the page; `python -m bench.cluster.rules` prints all."""
_PHASES = (
    ("children", "until all children exist"),
    ("ready", "until all graphs are ready"),
    ("foreign", "{pods} pods of somebody else come and go"),
    ("beside", "rest beside these pods"),
)
_OF_OTHERS = frozenset({"foreign", "beside"})
"""Phases in which Metacontroller writes nothing."""


@click.command()
@click.option(
    "--lines", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="What `make bench` printed."
)
@click.argument("results", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(*, lines: Path | None, results: tuple[Path, ...]) -> None:
    """Write the parts of the page for which there are RESULTS; the other parts stay."""
    paths = results or sorted(RESULTS.glob("*.json"))
    if not paths:
        raise click.UsageError(f"there is no result in {RESULTS}: make bench")
    found = [json.loads(path.read_text()) for path in paths]
    page = PAGE.read_text()
    if calls := [one for one in found if "cases" in one]:
        page = replace_part(page, "calls", write_calls(calls[-1]))
    if clusters := [one for one in found if "foreign_pods" in one]:
        newest = {(one["graphs"], one.get("namespaces", 1)): one for one in clusters}
        page = replace_part(page, "cluster", write_clusters(newest.values()))
    if replayed := [one for one in found if "milliseconds" in one]:
        page = replace_part(page, "replayed", write_replayed(replayed[-1]))
    if resyncs := [one for one in found if "remembering" in one]:
        page = replace_part(page, "resync", write_resync(resyncs[-1]))
    if events := [one for one in found if "costs" in one]:
        page = replace_part(page, "events", write_events(events[-1]))
    if rules := [one for one in found if "rules" in one]:
        page = replace_part(page, "rules", write_rule_costs(rules[-1]["rules"]))
        page = replace_part(page, "writes", write_writes(rules[-1]["writes"]))
    if lines:
        page = replace_part(page, "targets", write_targets(lines.read_text().splitlines()))
    PAGE.write_text(page)
    click.echo(f"written to {PAGE}")


def replace_part(page: str, name: str, table: str) -> str:
    """The page with another table between the marks of that name.

    Raises:
        ValueError: the page has no such marks.
    """
    part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not part.search(page):
        raise ValueError(f"the page has no part {name}")
    return part.sub(lambda found: f"{found[1]}{table}{found[2]}", page)


def write_calls(result: Result) -> str:
    """Requests per second and latency of sync calls beside those of the echo."""
    machine, options = result["machine"], result["options"]
    said = (
        f"{machine['processors']} processors shared with the load generator, Python {machine['python']}, "
        f"{options['workers']} workers, {options['connections']} connections; times at {options['rate']:g} requests/s; "
        f"{result['time'][:10]}.\n\n"
    )
    busy = ("requests/s", "echo", "ratio", "JSON echo", "ratio")
    head = ("request", "body KB", *busy, "p50 ms", "echo", "p99 ms", "echo")
    rows = [
        (
            case["name"],
            f"{case['body_bytes'] / 1000:.0f}",
            *_pair(case, "requests_per_second", "{:.0f}".format),
            f"{case['ratio']:.2f}",
            f"{case['json_echo']['requests_per_second']:.0f}",
            f"{case['ratio_to_json_echo']:.2f}",
            *_pair(case["at_rate"], "p50_ms", "{:.1f}".format),
            *_pair(case["at_rate"], "p99_ms", "{:.1f}".format),
        )
        for case in result["cases"]
    ]
    memory = max(worker["rss"] for worker in result["worker_memory_mib"])
    cold = result["cold_start_ms"]["first_sync"]
    table = write_table(head, rows)
    return f"{said}{table}\nLargest worker: {memory:.0f} MiB. From start to the first sync: {cold:.0f} ms.\n"


def write_replayed(result: Result) -> str:
    """Where the processor's time of a graph goes until it is ready."""
    whole, graphs = result["whole"], result["graphs"]
    rows: list[tuple[object, ...]] = [
        (part, f"{spent:.1f}", f"{spent / whole:.0%}") for part, spent in result["milliseconds"].items()
    ]
    rows.append(("**whole**", f"{whole:.1f}", ""))
    without = result["whole_without_json_cache"]
    rows.append(("whole, if each body were parsed anew", f"{without:.1f}", f"{without / whole:.0%}"))
    calls = sum(result["calls"].values()) / graphs
    said = (
        f"{graphs} graphs of four services, {calls:.0f} calls and {result['kilobytes']:.0f} KB for each, "
        f"of which {result['reads'] / graphs:.0f} read on demand; {result['time'][:10]}.\n\n"
    )
    return said + write_table(("part", "ms of processor, a graph", "share"), rows)


def write_resync(result: Result) -> str:
    """What a resync of many graphs costs the hooks, and how often that is worth its price."""
    head = ("hooks", "first pass, s", "last pass, s", "2 % of a processor at a resync each", "largest worker, MiB")
    rows = []
    for title, name in (("remember answers", "remembering"), ("compute each", "computing")):
        seconds = result[name]["seconds"]
        rows.append(
            (
                title,
                f"{seconds[0]:.1f}",
                f"{seconds[-1]:.1f}",
                f"{find_period(seconds[-1])} s",
                f"{result[name]['mib']:.0f}",
            )
        )
    said = (
        f"{result['graphs']:,} graphs of four services, {result['calls']:,} calls, {result['kilobytes']:.0f} KB for a "
        f"graph with its components; {result['workers']} processes; {result['time'][:10]}.\n\n"
    )
    return said + write_table(head, rows)


def write_clusters(results: Iterable[Result]) -> str:
    """What many graphs cost on a real control plane, by program, and the verdicts."""
    ordered = sorted(results, key=lambda one: (int(one["graphs"]), one.get("namespaces", 1)))
    head = ("graphs", "namespaces", "phase", "seconds", "hooks", "Metacontroller", "all programs", "calls a graph")
    beside = ("Metacontroller, floor", "before", "all programs, floor")
    rows = [
        _write_phase(result, phase, title) for result in ordered for phase, title in _PHASES if phase in result["hooks"]
    ]
    judged = (*(row for one in ordered for row in judge_cluster(one)), *judge_growth(ordered))
    verdicts = write_table(("graphs", "target", "measured"), judged)
    said = (
        "Processor seconds by program; *before* are the hooks of the version before reads on demand, "
        "where they ran too.\n\n"
    )
    return f"{said}{write_table((*head, *beside), rows)}\n{verdicts}"


def _write_phase(result: Result, phase: str, title: str) -> tuple[object, ...]:
    found, spent = result["hooks"][phase], result["hooks"][phase]["processor_seconds"]
    least, before = (result[one][phase]["processor_seconds"] if one in result else {} for one in ("floor", "before"))
    return (
        result["graphs"],
        result.get("namespaces", 1),
        title.format(pods=result.get("foreign_pods", 0)),
        f"{found.get('wall', found['seconds']) if phase in _OF_OTHERS else found['seconds']:.1f}",
        f"{spent.get('hooks', 0):.1f}",
        f"{spent.get('metacontroller', 0):.2f}",
        f"{sum(spent.values()):.1f}",
        f"{sum(found['calls'].values()) / result['graphs']:.1f}",
        f"{least.get('metacontroller', 0):.2f}" if least else "",
        f"{before.get('metacontroller', 0):.2f}" if before else "",
        f"{sum(least.values()):.1f}" if least else "",
    )


def write_events(result: Result) -> str:
    """What an event of a related kind costs Metacontroller."""
    rows = ((title, f"{cost:.2f}", f"{calls:.2f}") for title, (cost, calls) in result["costs"].items())
    return write_table(
        ("parents with a rule for the kind, and event", "ms of Metacontroller, an event", "calls of hooks, an event"),
        rows,
    )


def judge_cluster(result: Result) -> Iterator[tuple[int, str, str]]:
    """For each target of the bench of many graphs: their number, the verdict, and the figure beside its target."""
    graphs, services, hooks = (result[key] for key in ("graphs", "services", "hooks"))
    first, written = hooks["first_writes"], hooks["ready"]["api_calls"]
    figures = [
        ("status writes of a graph until its children exist", first.get(_GRAPHS, 0) / graphs, 2.0),
        ("status writes of a component until then", first.get(_COMPONENTS, 0) / graphs / services, 1.0),
        (
            "status writes of a graph until it is ready",
            written.get(f"update {_GRAPHS}/status", 0) / graphs,
            2.0 + services,
        ),
    ]
    for phase, title in _PHASES[:2] if "floor" in result else ():
        spent, least = (sum(one[phase]["processor_seconds"].values()) for one in (hooks, result["floor"]))
        figures.append((f"processor seconds {title}, times the floor", spent / least, 1.2))
    ready = hooks["ready"]
    if "before" in result:
        least = result["before"]["ready"]["processor_seconds"]["metacontroller"]
        ratio = ready["processor_seconds"]["metacontroller"] / least
        figures.append(("processor seconds of Metacontroller, times those before", ratio, 0.55))
    if result.get("foreign_pods") and "beside" in hooks:
        cost = _find_cost(hooks["foreign"], hooks["rest"]) / result["foreign_pods"]
        figures.append(("ms of Metacontroller for each pod of somebody else", 1000 * cost, 0.1))
    figures.append(
        ("hook calls for each change of a child", sum(ready["calls"].values()) / ready["child_changes"], 3.0)
    )
    figures.append(("MiB of the largest worker of the hooks", hooks["memory"]["hooks"], 120.0))
    for title, value, target in figures:
        yield graphs, *_judge(title, value, target)


def _judge(title: str, value: float, target: float) -> tuple[str, str]:
    return "reached" if value <= target else "missed", f"{title}: {value:.4g}, target at most {target:g}"


def judge_growth(results: Sequence[Result]) -> Iterator[tuple[int, str, str]]:
    """Verdicts on what a graph costs among more than a hundred, where each number has as many namespaces."""
    spread = {one["graphs"]: one for one in results if one.get("namespaces", 1) == one["graphs"]}
    for graphs in sorted(number for number in spread if 100 in spread and number > 100):
        spent, base = (spread[number]["hooks"]["ready"]["processor_seconds"] for number in (graphs, 100))
        shares = (
            ("Metacontroller", spent["metacontroller"], base["metacontroller"]),
            ("all programs", sum(spent.values()), sum(base.values())),
        )
        for program, much, less in shares:
            ratio = much / graphs / (less / 100)
            title = f"a graph's processor seconds of {program}, times those of one among 100"
            yield graphs, *_judge(title, ratio, 1.3)


def _find_cost(phase: Result, rest: Result) -> float:
    """Metacontroller's processor seconds in a phase, above those of as much rest."""
    spent, idle = (one["processor_seconds"]["metacontroller"] for one in (phase, rest))
    return max(0.0, float(spent - idle * phase["wall"] / rest["wall"]))


def write_rule_costs(costs: Mapping[str, Sequence[Result]]) -> str:
    """What all rules of a kind cost together, and of those of graphs the dearest of a status write."""
    head = ("kind", "rules", "create, µs", "update, µs", "status write, µs", "allocations of a status write")
    rows: list[tuple[object, ...]] = []
    for kind, (whole, *each) in costs.items():
        dearest = sorted(each, key=lambda one: -float(one["status"]["microseconds"]))[: _DEAREST if not rows else 0]
        for one, name in [(whole, f"all {len(each)}"), *((one, f"{one['place']}: {one['rule']}") for one in dearest)]:
            times = (f"{one[write]['microseconds']:.0f}" for write in ("create", "update", "status"))
            rows.append((kind, name, *times, one["status"]["allocations"]))
    return write_table(head, rows)


def write_writes(writes: Mapping[str, Mapping[str, Result]]) -> str:
    """Where the processor time of a write of a graph is spent, with all rules, and the whole without any."""
    every, none = writes["all"], writes["none"]
    head = ("milliseconds of processor", *every)
    parts = next(iter(every.values()))["parts"]
    rows = [(part, *(f"{one['parts'][part]:.2f}" for one in every.values())) for part in parts]
    rows.append(("**sum of the profile**", *(f"{sum(one['parts'].values()):.1f}" for one in every.values())))
    rows.append(("whole process", *(f"{one['milliseconds']:.1f}" for one in every.values())))
    rows.append(("whole process, without rules", *(f"{none[kind]['milliseconds']:.1f}" for kind in every)))
    for name, found in (("allocations", every), ("allocations, without rules", none)):
        rows.append((name, *(f"{found[kind]['allocations']:,.0f}" for kind in every)))
    rows.append(("writes measured", *(str(one["writes"]) for one in every.values())))
    return write_table(head, rows)


def write_targets(lines: Iterable[str]) -> str:
    """The verdicts that the benches printed."""
    found = [match for line in lines if (match := _VERDICT.fullmatch(line.strip()))]
    return write_table(("target", "measured"), [(match[1], match[2].replace("|", "\\|")) for match in found])


def _pair(case: Result, key: str, write: Callable[[float], str]) -> tuple[str, str]:
    return write(case["hook"][key]), write(case["echo"][key])


def write_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


if __name__ == "__main__":
    main()
