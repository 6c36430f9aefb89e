"""CEL of the rules of graphs: their services, claims, restarts, names, and what of them may not change.

Of several services that break a rule, CEL names one; of several entries of a list, the first.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go, as `hooks.graph` has it.
"""

from hooks.crds.cel import NAME, At, CelRule, formatted, is_zero, name_rule, of_first_key

MAX_SERVICES = 25

_RANGE = str(list(range(MAX_SERVICES)))
_SPEC: At = ("spec",)
_SERVICES: At = ("spec", "services")
_NO_SERVICES = "spec.services must have at least one service"


def _claim_rule(name: str, broken: str, text: str) -> CelRule:
    return CelRule(
        name=name,
        at=("spec", "pvcs"),
        holds=f"self.all(c, !({broken}))",
        text=formatted(f"spec.pvcs[%d]{text}", f"self.map(c, {broken}).indexOf(true)"),
    )


_CREATED = "c.?create.orValue(false)"
_NO_SIZE = f"(!has(c.size) || {is_zero('c.size')})"

_CLAIM_RULES = (
    _claim_rule("claim-name", "size(c.?name.orValue('')) == 0", ".name is required"),
    _claim_rule(
        "claim-storage-class",
        f"{_CREATED} && size(c.?storageClass.orValue('')) == 0",
        ".storageClass is required when create is true",
    ),
    _claim_rule("claim-size", f"{_CREATED} && {_NO_SIZE}", ".size is required when create is true"),
    _claim_rule(
        "claim-access-mode",
        f"{_CREATED} && size(c.?volumeAccessMode.orValue('')) == 0",
        ".volumeAccessMode is required when create is true",
    ),
)

_ORDER = "self.restart.strategy.order"
_IN_TURN = "self.restart.strategy.?type.orValue('') != 'Parallel'"
_FREE = f"!(has(self.restart) && has(self.restart.strategy) && has({_ORDER}) && size({_ORDER}) > 0)"
_UNKNOWN = f"{_ORDER}.filter(n, !(has(self.services) && n in self.services))"
_ORDER_PATH = "spec.restart.strategy.order"


def _order_rule(name: str, holds: str, message: str, text: str = "") -> CelRule:
    return CelRule(name=name, at=_SPEC, holds=f"{_FREE} || {holds}", message=message, text=text)


_RESTART_RULES = (
    CelRule(
        name="restart-id",
        at=_SPEC,
        holds="!has(self.restart) || size(self.restart.?id.orValue('')) > 0",
        message="spec.restart.id is required",
    ),
    _order_rule("restart-parallel", _IN_TURN, f"{_ORDER_PATH} cannot be specified when strategy is parallel"),
    _order_rule(
        "restart-unique",
        f"!({_IN_TURN}) || {_ORDER}.all(n, {_ORDER}.exists_one(m, m == n))",
        f"{_ORDER_PATH} must be unique",
    ),
    _order_rule(
        "restart-complete",
        f"!({_IN_TURN}) || {_RANGE}.filter(i, i < size({_ORDER}) && {_ORDER}.indexOf({_ORDER}[i]) == i).size() == "
        "size(self.?services.orValue({}))",
        f"{_ORDER_PATH} must have the same number of unique services as the deployment",
    ),
    _order_rule(
        "restart-unknown",
        f"!({_IN_TURN}) || size({_UNKNOWN}) == 0",
        "",
        formatted(f"{_ORDER_PATH} contains unknown service: %s", f"{_UNKNOWN}[0]"),
    ),
)

_SERVICES_RULES = (
    CelRule(
        name="services", at=(), holds="has(self.spec) || oldSelf.hasValue()", message=_NO_SERVICES, may_be_new=True
    ),
    CelRule(name="services", at=(), holds="has(self.spec) || !has(oldSelf.spec)", message=_NO_SERVICES),
    CelRule(name="services", at=_SPEC, holds="size(self.?services.orValue({})) > 0", message=_NO_SERVICES),
)


def _listed(names: str) -> str:
    """An expression that writes a list of texts as `[a b]`."""
    slots = "%s" * MAX_SERVICES
    item = f"(i > 0 ? ' %s' : '%s').format([{names}[i]])"
    return f"'[{slots}]'.format({_RANGE}.map(i, i < size({names}) ? {item} : ''))"


_NODES = "self[k].?multinode.?nodeCount.orValue(1) > 1"
_OLD_NODES = "oldSelf[k].?multinode.?nodeCount.orValue(1) > 1"
_FLIPPED = f"k in oldSelf && ({_NODES}) != ({_OLD_NODES})"
_ADDED, _REMOVED = "self.filter(k, !(k in oldSelf))", "oldSelf.filter(k, !(k in self))"
_FIXED_SERVICES = "service topology is immutable and cannot be modified after creation: "

_CHANGE_RULES = (
    CelRule(
        name="node-topology",
        at=_SERVICES,
        holds=f"self.all(k, !({_FLIPPED}))",
        text=of_first_key(
            _FLIPPED,
            formatted(
                "spec.services[%s] cannot change node topology (between single-node and multi-node) after creation", "k"
            ),
        ),
    ),
    CelRule(
        name="service-topology",
        at=_SERVICES,
        holds="self.all(k, k in oldSelf) && oldSelf.all(k, k in self)",
        text=(
            f"[{_ADDED}].map(a, [{_REMOVED}].map(r, size(a) > 0 && size(r) > 0 ? "
            f"{formatted(f'{_FIXED_SERVICES}services added: %s, services removed: %s', _listed('a'), _listed('r'))} : "
            f"size(a) > 0 ? {formatted(f'{_FIXED_SERVICES}services added: %s', _listed('a'))} : "
            f"{formatted(f'{_FIXED_SERVICES}services removed: %s', _listed('r'))})[0])[0]"
        ),
    ),
)

_LABEL = r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"
_PARTS = rf"^{_LABEL}([.]{_LABEL})*$"
_TOO_LONG = f"size({NAME}) + 1 + size(k) > 63"
_TWIN = "self.spec.services.exists(j, j < k && j.lowerAscii() == k.lowerAscii())"
_TWINS = "self.spec.services.filter(j, j < k && j.lowerAscii() == k.lowerAscii())"


def _service_name_rule(name: str, broken: str, text: str, *values: str) -> CelRule:
    """A rule about the name `k` of a service that needs the graph's name too."""
    return name_rule(
        name,
        f"has(self.spec) && has(self.spec.services) && self.spec.services.exists(k, {broken})",
        f"[self.spec.services.filter(k, {broken})[0]].map(k, {formatted(text, *values)})[0]",
    )


_NAME_RULES = (
    name_rule(
        "graph-name-length",
        f"size({NAME}) > 63",
        formatted("metadata.name has %d characters, must have at most 63: it becomes a label", f"size({NAME})"),
    ),
    _service_name_rule(
        "service-names-differ",
        _TWIN,
        "spec.services[%s] and spec.services[%s] would both be named %s-%s; rename one",
        *("k", f"{_TWINS}[0]", NAME, "k.lowerAscii()"),
    ),
    _service_name_rule(
        "service-name",
        f"!k.matches('{_PARTS}')",
        "spec.services[%s]: the name %s-%s is not possible; a service's name has letters, digits and '-' only",
        *("k", NAME, "k.lowerAscii()"),
    ),
    _service_name_rule(
        "service-name-length",
        _TOO_LONG,
        "spec.services[%s]: the name %s-%s has %d characters, at most 63 are possible; shorten the "
        "DynamoGraphDeployment name (length %d) or the service name (length %d)",
        *("k", NAME, "k.lowerAscii()", f"size({NAME}) + 1 + size(k)", f"size({NAME})", "size(k)"),
    ),
)

GRAPH_RULES = (*_SERVICES_RULES, *_CLAIM_RULES, *_RESTART_RULES, *_NAME_RULES)
GRAPH_CHANGE_RULES = _CHANGE_RULES
