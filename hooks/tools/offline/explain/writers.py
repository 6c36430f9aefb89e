"""Which function of the hooks wrote each leaf: the first whose result has the leaf's value at the end of its path.

The end is as long as it must be for the object to have one value there: `terminationGracePeriodSeconds` alone, but
`livenessProbe`, `periodSeconds`.

One build is watched, with empty caches, so that every function runs. What only passes values on is not asked: the types
that read an object, and `hooks.ground.k8s`, which builds what others decide.
"""

import functools
import inspect
import itertools
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import hooks
from hooks.ground.k8s.types import Json
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.leaves import LeafPlace, ObjectKey, RenderedObjects, naming_key
from hooks.tools.offline.explain.origins import Writer

_KINDS = ("hooks.component", "hooks.graph", "hooks.request")
_ASKED = (*(f"{kind}." for kind in _KINDS), "hooks.wire.metacontroller.", "hooks.tools.offline.rendering")
_PASSING = frozenset(f"hooks.wire.metacontroller.{name}" for name in ("parent_key", "protocol", "wire"))
_CACHING = (*_KINDS, "hooks.wire.metacontroller")
_LONGEST = 4
_SOURCE = "Source: "
_Tail = tuple[str, ...]
_Known = tuple[_Tail, str]
_Wanted = Mapping[str, Collection[_Known]]
"""What is looked for, by the last name of its path."""


@dataclass(frozen=True, slots=True)
class _Function:
    module: str
    name: str


def find_writers(build: Build, made: RenderedObjects, places: Sequence[LeafPlace]) -> dict[LeafPlace, Writer]:
    """The writer of each of these leaves; a leaf that no function returned as a value is left out."""
    if not places:
        return {}
    values = _values(made, {place.object for place in places})
    wanted: dict[LeafPlace, list[_Known]] = {}
    for place in places:
        tails = _tails(_name_parts(place.path.parts))
        tail = next((tail for tail in tails if len(values[place.object, tail]) == 1), tails[-1])
        wanted[place] = [(one, _text(made.value(place))) for one in _shorter(tail)]
    first = _watch(build, _by_last_name(itertools.chain.from_iterable(wanted.values())))
    functions = {place: next((first[one] for one in some if one in first), None) for place, some in wanted.items()}
    return {place: _describe(function) for place, function in functions.items() if function is not None}


def _values(made: RenderedObjects, keys: Iterable[ObjectKey]) -> dict[tuple[ObjectKey, _Tail], set[str]]:
    """The values of the leaves of each of these objects that end like this."""
    found: dict[tuple[ObjectKey, _Tail], set[str]] = {}
    for key in keys:
        for place, value in made.leaves_of(key).items():
            for tail in _tails(_name_parts(place.path.parts)):
                found.setdefault((key, tail), set()).add(_text(value))
    return found


def _shorter(tail: _Tail) -> Iterator[_Tail]:
    """The tail, then its ends."""
    for start in range(len(tail)):
        yield tail[start:]


def _tails(names: _Tail) -> list[_Tail]:
    """The ends of a path, the shortest first."""
    return [names[-length:] for length in range(1, min(len(names), _LONGEST) + 1)]


def _name_parts(parts: Iterable[str | int]) -> _Tail:
    """The names of a path, with the index of a plain value in a list; a variable is known by its name alone."""
    listed = list(parts)
    names = [str(part) for at, part in enumerate(listed, 1) if not isinstance(part, int) or at == len(listed)]
    return tuple(names[:-1] if len(names) > 1 and names[-1] == "value" else names)


def _by_last_name(known: Iterable[_Known]) -> _Wanted:
    found: dict[str, set[_Known]] = {}
    for tail, text in known:
        found.setdefault(tail[-1], set()).add((tail, text))
    return found


def _watch(build: Build, wanted: _Wanted) -> dict[_Known, _Function]:
    """By the end of a path and a value, the function whose result was the first to have it.

    A function that got the value as an argument only passed it on; it counts if no other one is found.
    """
    made: dict[_Known, _Function] = {}
    passed: dict[_Known, _Function] = {}
    count = sum(map(len, wanted.values()))

    def record(frame: FrameType, event: str, result: Any) -> None:
        if event != "return" or result is None or len(made) == count or not _is_asked(frame):
            return
        fresh = {known for known in _ends(result, wanted) if known not in made}
        if fresh:
            function = _Function(str(frame.f_globals["__name__"]), frame.f_code.co_qualname)
            given = {known for value in _arguments(frame) for known in _ends(value, wanted)} & fresh
            made.update(dict.fromkeys(fresh - given, function))
            for known in given:
                passed.setdefault(known, function)

    _empty_caches()
    before = sys.getprofile()
    sys.setprofile(record)
    try:
        build.render()
    finally:
        sys.setprofile(before)
    return passed | made


def _is_asked(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module.startswith(_ASKED) and module not in _PASSING and not frame.f_code.co_name.startswith("<")


def _arguments(frame: FrameType) -> list[Any]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [frame.f_locals.get(name) for name in names]


def _ends(value: Any, wanted: _Wanted) -> Iterator[_Known]:
    """Those of the wanted ends that a value has."""
    for names, leaf in _walk(value, ()):
        if some := wanted.get(names[-1]):
            text = _text(leaf)
            yield from ((tail, text) for tail in _tails(names) if (tail, text) in some)


def _walk(value: Any, names: _Tail) -> Iterator[tuple[_Tail, Any]]:
    """Each leaf of a result with the names of its path; models of the API have no leaves."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _walk(getattr(value, field.name), (*names, field.name))
    elif isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _walk(item, names if key == "value" else (*names, str(key)))
    elif isinstance(value, list | tuple) and value:
        naming = naming_key(value)
        for index, item in enumerate(value):
            here = () if isinstance(item, Mapping | list | tuple) else (str(index),)
            yield from _walk(item, (*names, *(here if naming is None else (str(item[naming]),))))
    elif names and isinstance(value, str | int | float | Mapping | list | tuple):
        yield names, value


def _text(value: Json) -> str:
    return f"{type(value).__name__ if isinstance(value, bool) else ''}{value}"


def _empty_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(_CACHING):
            for one in list(vars(module).values()):
                if isinstance(one, functools._lru_cache_wrapper):
                    one.cache_clear()


def _describe(function: _Function) -> Writer:
    module = sys.modules[function.module]
    return Writer(
        file=_file_of(module),
        function=function.name,
        about=_sentence(module),
        sentence=_sentence(_find(module, function.name)),
        upstream=_upstream(_find(module, function.name)) or _upstream(module),
    )


def _find(module: ModuleType, name: str) -> object:
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return inspect.unwrap(found) if callable(found) else None


def _sentence(documented: object) -> str:
    """The first paragraph of a docstring, in one line; empty for none."""
    docstring = (documented is not None and inspect.getdoc(documented)) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def _upstream(documented: object) -> str:
    """What a docstring names as its source, in one line; empty for none."""
    docstring = (documented is not None and inspect.getdoc(documented)) or ""
    named = (part for part in docstring.split("\n\n") if part.startswith(_SOURCE))
    return " ".join(next(named, "").removeprefix(_SOURCE).split()).rstrip(".")


def _file_of(module: ModuleType) -> str:
    """The file as its repository names it: `hooks/…`."""
    return str(Path(str(module.__file__)).relative_to(Path(str(hooks.__file__)).parent.parent))
