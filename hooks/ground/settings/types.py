"""Types of settings: how each value is read and checked; a ValueError says what would be right.

Addresses and names are kept as written, so that a pod's variables do not change with the version of the hooks.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from hooks.ground.k8s.names import MAX_LABEL, MAX_SUBDOMAIN, is_dns_label, is_subdomain

MAX_INSTALLATION = 26
"""A controller's name ends with the installation's name, and Metacontroller makes a finalizer of it:
`compositecontroller-dynamo-component-…`, at most 63 characters."""

_DURATION_PART = re.compile(r"(\d+)(h|m|s)")
_SIZE_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_ADDRESS = re.compile(
    r"(?P<scheme>[a-z]+://)?([^\s/@,]+@)?(\[[0-9A-Fa-f:.]+\]|[^\s/@,:?#\[\]]+)(:(?P<port>\d{1,5}))?([/?][^\s,]*)?"
)
_MAX_PORT = 65_535
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_Check = Callable[[str], bool]


def _read_duration(value: Any) -> Any:
    """`15m`, `4h30m` or `90s` to Go's canonical form: `15m0s`, `4h30m0s`, `1m30s`."""
    text = str(value).replace(" ", "")
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(n + u for n, u in parts) != text:
        raise ValueError("write a duration such as 15m, 4h or 1h30m0s")
    seconds = sum(int(n) * {"h": 3600, "m": 60, "s": 1}[u] for n, u in parts)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def _read_seconds(value: Any) -> Any:
    """`600 s`, `600s` or `600` to seconds."""
    text = str(value).strip().removesuffix("s").strip()
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise ValueError("write a number of seconds, such as 30 or 30s")
    return float(text)


def _read_size(value: Any) -> Any:
    """`16 MiB`, `16MiB` or a number of bytes to bytes."""
    match = re.fullmatch(r"(\d+)\s*(KiB|MiB|GiB|)", str(value).strip())
    if match is None:
        raise ValueError("write a number of bytes, or one with KiB, MiB or GiB")
    return int(match[1]) * _SIZE_UNITS[match[2]]


def _read_list(value: Any) -> Any:
    """A comma-separated list to its items."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _each(check: _Check) -> Callable[[tuple[str, ...]], bool]:
    return lambda values: all(map(check, values))


def _is_request_namespaces(text: str) -> bool:
    """Whether this is `own`, `any`, or a list of namespaces."""
    return all(is_dns_label(part.strip()) for part in text.split(","))


def _must(check: Callable[[Any], bool], what_is_right: str) -> AfterValidator:
    """The validator that refuses a value which does not pass the check."""

    def validate(value: Any) -> Any:
        if not check(value):
            raise ValueError(f"write {what_is_right}")
        return value

    return AfterValidator(validate)


def _optional(check: _Check) -> _Check:
    return lambda value: not value or check(value)


def _addresses(*schemes: str) -> _Check:
    """The check of addresses separated by commas."""
    return lambda value: all(_is_address(part.strip(), schemes) for part in value.split(","))


def _is_address(text: str, schemes: tuple[str, ...], *, needs_scheme: bool = False) -> bool:
    """Whether this is a URL of one of the schemes or, unless it needs a scheme, `host:port`."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"] or 1) not in range(1, _MAX_PORT + 1):
        return False
    if match["scheme"] is None:
        return match["port"] is not None and not needs_scheme
    return match["scheme"].removesuffix("://") in schemes


def _is_http_url(text: str) -> bool:
    return _is_address(text, ("http", "https"), needs_scheme=True)


def _is_qualified_name(text: str) -> bool:
    """Whether this is `name` or `namespace/name`."""
    namespace, slash, name = text.rpartition("/")
    return is_subdomain(name) and (not slash or is_dns_label(namespace))


def _is_queue(text: str) -> bool:
    """Whether this is an object's name that is also a label value."""
    return is_subdomain(text) and len(text) <= MAX_LABEL


def _label_form(limit: int) -> str:
    return f"at most {limit} of a-z, 0-9 and '-', with a letter or digit at both ends"


def _name_form(limit: int = MAX_SUBDOMAIN) -> str:
    return f"at most {limit} of a-z, 0-9, '-' and '.', with a letter or digit beside each '.' and at both ends"


def _is_pod_amount(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,4}%?", text) is not None


Duration = Annotated[str, BeforeValidator(_read_duration)]
Seconds = Annotated[float, BeforeValidator(_read_seconds), Field(gt=0)]
Size = Annotated[int, BeforeValidator(_read_size), Field(ge=1024)]
UserNames = Annotated[tuple[str, ...], BeforeValidator(_read_list)]
Registries = Annotated[
    tuple[str, ...],
    BeforeValidator(_read_list),
    _must(
        _each(lambda value: re.fullmatch(r"[\w.:/-]*\w/[\w./-]*", value, re.ASCII) is not None),
        "a registry's host and a slash, perhaps with a path, such as mirror.example.com/ or mirror.example.com/cache/",
    ),
]
Fields = Annotated[
    tuple[str, ...],
    BeforeValidator(_read_list),
    _must(
        _each(lambda value: re.fullmatch(r"(spec\.|metadata\.(annotations|labels))[^,\s]*", value) is not None),
        "paths of fields below spec, metadata.labels or metadata.annotations, such as spec.template.spec.tolerations",
    ),
]

PodAmount = Annotated[str, _must(_optional(_is_pod_amount), "a number of pods or a percentage, such as 1 or 25%")]

ProberUrl = Annotated[
    str,
    _must(_optional(_is_http_url), "a URL that begins with http:// or https://"),
    AfterValidator(lambda url: url.rstrip("/")),
]
PrometheusUrl = Annotated[
    str,
    _must(
        _optional(_is_http_url),
        "a URL that begins with http:// or https://, such as http://prometheus.monitoring:9090",
    ),
]
ModelExpressAddress = Annotated[
    str,
    _must(
        _optional(lambda value: _is_address(value, ("http", "https", "grpc"))),
        "a URL or host:port, such as http://model-express.dynamo-system:8001",
    ),
]
NatsAddresses = Annotated[
    str,
    _must(
        _optional(_addresses("nats", "tls", "ws", "wss")),
        "a URL or host:port, or several, separated by commas, such as nats://nats.dynamo-system:4222",
    ),
]
EtcdAddresses = Annotated[
    str,
    _must(
        _optional(_addresses("http", "https")),
        "a URL or host:port, or several, separated by commas, such as http://etcd.dynamo-system:2379",
    ),
]

ClusterRole = Annotated[str, _must(is_subdomain, f"a ClusterRole's name: {_name_form()}, such as dynamo-hooks-planner")]
SecretName = Annotated[str, _must(_optional(is_subdomain), f"a Secret's name: {_name_form()}, such as frontend-tls")]
LeaseName = Annotated[str, _must(is_subdomain, f"a Lease's name: {_name_form()}, such as dynamo-hooks-prober")]
IngressClass = Annotated[str, _must(_optional(is_subdomain), f"an IngressClass's name: {_name_form()}, such as nginx")]
Domain = Annotated[str, _must(_optional(is_subdomain), f"a domain: {_name_form()}, such as inference.example.com")]
Queue = Annotated[str, _must(_is_queue, f"a queue's name: {_name_form(MAX_LABEL)}, such as dynamo")]
QualifiedSecretName = Annotated[
    str, _must(_is_qualified_name, "a Secret's name or namespace/name, such as dynamo-system/mpi-run-ssh-secret")
]
QualifiedGatewayName = Annotated[
    str, _must(_optional(_is_qualified_name), "a Gateway's name or namespace/name, such as istio-system/main")
]
Namespace = Annotated[str, _must(_optional(is_dns_label), f"a namespace: {_label_form(MAX_LABEL)}, such as team-a")]
RequestNamespaces = Annotated[
    str,
    _must(_is_request_namespaces, "own, any, or namespaces separated by commas, such as team-a,team-b"),
]
Installation = Annotated[
    str,
    _must(
        _optional(lambda value: is_dns_label(value, MAX_INSTALLATION)),
        f"a name: {_label_form(MAX_INSTALLATION)}, such as team-a",
    ),
]
Image = Annotated[str, _must(lambda value: not re.search(r"\s", value), "an image, such as dynamo-hooks:0.1.0")]
PythonModule = Annotated[
    str,
    _must(
        lambda value: _MODULE.fullmatch(value) is not None, "a Python module, such as benchmarks.profiler.profile_sla"
    ),
]
