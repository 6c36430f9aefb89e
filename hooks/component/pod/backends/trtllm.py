"""TensorRT-LLM over several nodes: the leader starts all ranks with mpirun over SSH; the workers run only sshd.

The SSH files are in `$HOME/.ssh`, and commands and files name them by the whole path. A `~` in these files would mean
the home directory of /etc/passwd, which may differ from `$HOME`.

Source: Dynamo operator, internal/dynamo/backend_trtllm.go, the newer form; TensorRT-LLM, trtllm-llmapi-launch.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from hooks.component.image.command_line import CommandLine
from hooks.component.image.shell import is_python, quote, quote_line, require_command
from hooks.component.pod.backends.launched import Launched, without_probes
from hooks.component.pod.placement import Orchestrator, Placement, Role
from hooks.component.pod.volumes import claim_volume
from hooks.ground.contract import Engine
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.pods import add_named, literal_env
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC
from hooks.language.rules import pod as rules

SSH_PORT = 2222
KEY_PATH = "/ssh-pk"
WAIT_SECONDS = 300
MAX_LINE_BYTES = 131_071
"""The longest argument of a process that Linux allows (MAX_ARG_STRLEN)."""

_KEEP_HOST_NAMES = {"OMPI_MCA_orte_keep_fqdn_hostnames": "1"}
_FORWARDED = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "HF_DATASETS_CACHE",
        "HF_ENDPOINT",
        "HF_HOME",
        "HF_TOKEN",
        "HOME",
        "HUGGING_FACE_HUB_TOKEN",
        "LD_LIBRARY_PATH",
        "MODEL_PATH",
        "NCCL_DEBUG",
        "NCCL_IB_DISABLE",
        "NCCL_P2P_DISABLE",
        "PATH",
        "PYTHONPATH",
        "TENSORRT_LLM_CACHE_DIR",
        "TOKENIZERS_PARALLELISM",
        "TRANSFORMERS_CACHE",
        "TRTLLM_USE_UCX_KVCACHE",
        "USER",
    }
)
_SSH = f"-p {SSH_PORT} -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa"
_READINESS = {
    "tcpSocket": {"port": SSH_PORT},
    "initialDelaySeconds": 20,
    "periodSeconds": 20,
    "timeoutSeconds": 5,
    "failureThreshold": 10,
}
_HOST_KEYS = ("rsa", "ecdsa", "ed25519")
_COMMAND_FILE = "$HOME/.ssh/engine.sh"
# trtllm-llmapi-launch joins its arguments, splits them again at blanks, and expands wildcards. It does not change words
# of these characters.
_SPLITTABLE = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
_SPLITTABLE_SCRIPT = re.compile(r"(?:[A-Za-z0-9@%+=:,./_ \t-]|\$\w|\$\{\w+\})+", re.ASCII)
_NO_RANKS = rules.NO_RANKS.at(SPEC / "resources", limit=SPEC / "resources.limits.gpu")


def launch_trtllm(container: Mapping[str, Json], placement: Placement, *, gpus: int, mpi_secret: str) -> Launched:
    """Launch TensorRT-LLM on one of several nodes; each node has `gpus` GPUs and as many ranks.

    `mpi_secret` names the Secret with the keys `private.key` and `private.key.pub`.

    Raises:
        InvalidSpec: the command is missing, or the command line is longer than Linux allows.
    """
    is_worker = placement.role is Role.WORKER
    parts = _worker_parts() if is_worker else _leader_parts(container, placement, gpus)
    volume = claim_volume(mpi_secret)
    probes = {"readinessProbe": _READINESS} if is_worker else {}
    changed = {
        **(without_probes(container) if is_worker else container),
        **probes,
        "command": ["/bin/sh", "-c"],
        "args": [_join(parts)],
        "env": add_named(container.get("env") or (), literal_env(_KEEP_HOST_NAMES)),
        "volumeMounts": _with_key(container.get("volumeMounts") or (), volume),
    }
    return Launched(
        container=changed,
        volumes=({"name": volume, "secret": {"secretName": mpi_secret, "defaultMode": 0o644}},),
        warnings=() if gpus or is_worker else (_NO_RANKS,),
    )


def _with_key(mounts: Sequence[Json], volume: str) -> list[Json]:
    """The mounts with that of the keys, unless the user mounts another volume there."""
    is_taken = any(mount.get("mountPath") == KEY_PATH for mount in mounts)
    return [*mounts, *(() if is_taken else ({"name": volume, "mountPath": KEY_PATH, "readOnly": True},))]


def _join(parts: Iterable[str]) -> str:
    line = " && ".join(parts)
    size = len(line.encode())
    if size > MAX_LINE_BYTES:
        path, other = SPEC / "extraPodSpec.mainContainer.args", SPEC / "multinode.nodeCount"
        raise InvalidSpec(rules.COMMAND_LINE_LENGTH.at(path, size=size, most=MAX_LINE_BYTES, other=other))
    return line


def _leader_parts(container: Mapping[str, Json], placement: Placement, gpus: int) -> tuple[str, ...]:
    require_command(container, Engine.TRTLLM)
    preparation, command = _engine_command(CommandLine.of(container))
    hosts = (placement.leader_host, *placement.worker_hosts)
    names = _FORWARDED.union(entry["name"] for entry in container.get("env") or ())
    forwarded = " ".join(f"-x {quote(name)}" for name in sorted(names))
    mpirun = (
        f"mpirun --allow-run-as-root --oversubscribe -n {placement.node_count * gpus} -H {','.join(hosts)} "
        f'--mca pml ob1 --mca plm_rsh_args "{_SSH}" {forwarded} '
        f"bash -c {quote(f'trtllm-llmapi-launch {command}')}"
    )
    wait = (_wait_for(placement.worker_hosts),) if placement.orchestrator is Orchestrator.LWS else ()
    return (*_key_parts("$HOME/.ssh"), *preparation, *wait, mpirun)


def _worker_parts() -> tuple[str, ...]:
    keys = tuple(f"$HOME/.ssh/host_keys/ssh_host_{kind}_key" for kind in _HOST_KEYS)
    settings = (
        f"Port {SSH_PORT}",
        *(f"HostKey {key}" for key in keys),
        "PidFile $HOME/.ssh/run/sshd.pid",
        "PermitRootLogin yes",
        "PasswordAuthentication no",
        "PubkeyAuthentication yes",
        "AuthorizedKeysFile $HOME/.ssh/authorized_keys",
        # sshd would refuse a home directory that its group may write, as on some volumes.
        "StrictModes no",
    )
    return (
        *_key_parts("$HOME/.ssh $HOME/.ssh/host_keys $HOME/.ssh/run"),
        *(f"ssh-keygen -t {kind} -f {key} -N ''" for kind, key in zip(_HOST_KEYS, keys, strict=True)),
        _write_lines(settings, "$HOME/.ssh/sshd_config"),
        "/usr/sbin/sshd -D -f $HOME/.ssh/sshd_config",
    )


def _key_parts(directories: str) -> tuple[str, ...]:
    """The commands that copy the keys to the files of ssh and sshd, with the file modes that both require."""
    settings = ("Host *", "IdentityFile $HOME/.ssh/id_rsa", "StrictHostKeyChecking no", f"Port {SSH_PORT}")
    return (
        f"mkdir -p {directories}",
        f"ls -la {KEY_PATH}/",
        f"cp {KEY_PATH}/private.key $HOME/.ssh/id_rsa",
        f"cp {KEY_PATH}/private.key.pub $HOME/.ssh/id_rsa.pub",
        f"cp {KEY_PATH}/private.key.pub $HOME/.ssh/authorized_keys",
        "chmod 600 $HOME/.ssh/id_rsa $HOME/.ssh/authorized_keys",
        "chmod 644 $HOME/.ssh/id_rsa.pub",
        _write_lines(settings, "$HOME/.ssh/config"),
    )


def _write_lines(lines: Iterable[str], path: str) -> str:
    """The command that writes a file with printf; `$HOME` is outside of the quotes, so the shell expands it."""
    text = "".join(rf"{line}\n" for line in lines).replace("$HOME", "'$HOME'")
    return f"printf '{text}' > {path}"


def _wait_for(hosts: Iterable[str]) -> str:
    """The command that waits until all workers have a name in DNS and accept SSH connections.

    Upstream waits only for the name. If a worker's sshd starts after that, the leader fails, and LeaderWorkerSet
    recreates the whole group.
    """
    let_in = f'ssh {_SSH} -o BatchMode=yes -o ConnectTimeout=5 "$host" true </dev/null >/dev/null 2>&1'
    return (
        f"{{ deadline=$(($(date +%s) + {WAIT_SECONDS})); for host in {' '.join(hosts)}; do "
        f'until getent hosts "$host" >/dev/null 2>&1 && {let_in}; do '
        f'if [ "$(date +%s)" -gt "$deadline" ]; then echo "worker $host is not there after {WAIT_SECONDS} s" >&2; '
        f'exit 1; fi; echo "waiting for worker $host"; sleep 2; done; done; }}'
    )


def _engine_command(line: CommandLine) -> tuple[tuple[str, ...], str]:
    """The commands to run before the engine, and the user's command as arguments of `trtllm-llmapi-launch`.

    A command that this program would split wrongly is written to a file. Only rank 0 runs the file, and it is on the
    same node as the file.
    """
    words = (*line.command, *line.args)
    if all(_SPLITTABLE.fullmatch(word) for word in words):
        return (), quote_line(words)
    if _is_plain_script(words):
        return (), words[-1].strip()
    written = quote(f"exec {quote_line(words)}")
    return (f"printf '%s\\n' {written} > {_COMMAND_FILE}",), f"sh {_COMMAND_FILE}"


def _is_plain_script(words: tuple[str, ...]) -> bool:
    """Whether the words are a shell with a script of one Python command that means the same without the shell."""
    if len(words) != 3 or words[:2] not in {(shell, "-c") for shell in ("sh", "bash", "/bin/sh", "/bin/bash")}:
        return False
    script = words[2]
    return _SPLITTABLE_SCRIPT.fullmatch(script) is not None and is_python((script.split() or [""])[0])
