"""The prefix of Dynamo namespaces in which a frontend, or an endpoint picker, looks for workers.

Workers of one generation register in `<Dynamo namespace>-<eight hex digits>`, which a frontend of 1.0.2 or later sees
only by `DYN_NAMESPACE_PREFIX`. The bare prefix also matches the Dynamo namespace of another graph, `vd2` beside `vd`.
From 1.6.1 on `DYN_NAMESPACE_PREFIX_STRICT` excludes that; before, a graph that has such a neighbour gets no prefix.
"""

from hooks.component.image.runtime_version import STRICT_PREFIX_SINCE, RuntimeVersion, has_bare_prefix, is_since
from hooks.component.spec.subject import Subject

PREFIX = "DYN_NAMESPACE_PREFIX"
STRICT = "DYN_NAMESPACE_PREFIX_STRICT"


def frontend_prefix(subject: Subject, version: RuntimeVersion | None) -> dict[str, str]:
    """The variables of a frontend of that release; {} for one that must see its own Dynamo namespace alone.

    One of unknown release gets the bare prefix where its graph says so: it has seen workers of a generation before.
    """
    takes_bare = subject.takes_bare_prefix and (version is None or has_bare_prefix(version))
    is_wanted = is_since(version, STRICT_PREFIX_SINCE) or takes_bare
    return picker_prefix(subject, version) if subject.graph and is_wanted else {}


def picker_prefix(subject: Subject, version: RuntimeVersion | None) -> dict[str, str]:
    """The variables of an endpoint picker of that release, which finds its workers by the prefix alone."""
    strict = {STRICT: "true"} if is_since(version, STRICT_PREFIX_SINCE) else {}
    return {PREFIX: subject.dynamo_namespace, **strict}
