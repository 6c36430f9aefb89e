"""Problems of the security contexts of a pod and its containers."""

from collections.abc import Iterator, Mapping

from hooks.component.rules.pod_rules.forms import check_form
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod_values as rules

_LARGEST_ID = 2**31 - 1
_MAX_PROFILE = 4095
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")


def find_pod_context_problems(pod: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of a pod's security context."""
    context, at = pod.get("securityContext", {}), path / "securityContext"
    for index, group in enumerate(context.get("supplementalGroups", ())):
        if not 0 <= group <= _LARGEST_ID:
            yield rules.RANGE.at(at / "supplementalGroups" / index, found=str(group), least=0, most=_LARGEST_ID)
    yield from _find_profile_problems(context, at)
    yield from _find_sysctl_problems(context, at / "sysctls")
    for index, sysctl in enumerate(context.get("sysctls", ())):
        field = _namespace_of(sysctl.get("name", ""))
        if field and pod.get(field):
            yield rules.NOT_WITH.at(at / "sysctls" / index / "name", other=path / field, value="true")
    if pod.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if pod.get(field):
                yield rules.NOT_WITH.at(path / field, other=path / "hostUsers", value="false")
    if pod.get("shareProcessNamespace") and pod.get("hostPID"):
        yield rules.NOT_BOTH.at(path / "shareProcessNamespace", other=path / "hostPID")


def find_context_problems(context: Mapping[str, Json], path: FieldPath, *, host_users: bool) -> Iterator[Problem]:
    """Problems of a container's security context; `host_users`: the pod uses the users of its node."""
    yield from _find_profile_problems(context, path)
    if context.get("procMount") == "Unmasked" and host_users:
        yield rules.ONLY_WITH.at(path / "procMount", other=FieldPath(("hostUsers",)), value="false")
    if context.get("allowPrivilegeEscalation") is False:
        at = path / "allowPrivilegeEscalation"
        if context.get("privileged"):
            yield rules.SYSTEM_ADMIN.at(at, other=path / "privileged")
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
            yield rules.SYSTEM_ADMIN.at(at, other=path / "capabilities.add")


def _find_profile_problems(context: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    for field in ("appArmorProfile", "seccompProfile"):
        if field not in context:
            continue
        profile, at = context[field], path / field
        name, kind = profile.get("localhostProfile"), profile.get("type")
        if not kind:
            yield rules.EMPTY.at(at / "type")
        elif kind == "Localhost" and not name:
            yield rules.NEEDED.at(at / "localhostProfile", other=at / "type", value="Localhost")
        elif kind != "Localhost" and name:
            yield rules.ONLY_WITH.at(at / "localhostProfile", other=at / "type", value="Localhost")
        elif field == "seccompProfile":
            yield from check_form(name, rules.RELATIVE_PATH, at / "localhostProfile")
        elif name and name != name.strip():
            yield rules.FIXED.at(
                at / "localhostProfile", found=repr(name), wanted=f"{name.strip()!r}, without blanks around"
            )
        elif name and len(name) > _MAX_PROFILE:
            yield rules.TOO_LONG.at(at / "localhostProfile", count=len(name), most=_MAX_PROFILE)


def _namespace_of(sysctl: str) -> str:
    """The field by which a pod shares the namespace of that sysctl with its node; empty for others."""
    name = sysctl.replace("/", ".")
    if name.startswith("net."):
        return "hostNetwork"
    return "hostIPC" if name == "kernel.sem" or name.startswith(_IPC_SYSCTLS) else ""


def _find_sysctl_problems(context: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    seen: dict[str, FieldPath] = {}
    for index, sysctl in enumerate(context.get("sysctls", ())):
        name, at = sysctl.get("name", ""), path / index / "name"
        if not name:
            yield rules.EMPTY.at(at)
            continue
        yield from check_form(name, rules.SYSCTL, at)
        if seen.setdefault(name, at) is not at:
            yield rules.REPEATED.at(at, found=repr(name), other=seen[name])
