"""The command `dynamo-hooks copy-output`: runs in a profiler's pod, and copies the profiler's files to the request."""

import signal
import sys
from pathlib import Path
from types import FrameType

import click

from hooks.ground import contract
from hooks.request.seen.profiler_output import CopyTask
from hooks.server.clients.api_server import ACCOUNT_FOLDER, ApiServer
from hooks.server.clients.output_copier.copier import CopyFailed, OutputCopier

_TERMINATION_LOG = Path("/dev/termination-log")


@click.command(
    "copy-output",
    epilog=f"""\b
Examples:
  dynamo-hooks copy-output --config-map dgdr-output-qwen --request qwen
  dynamo-hooks copy-output --config-map out --request qwen --required {contract.PROFILER_MOCKER_OUTPUT}
  POD_NAME=p POD_NAMESPACE=ns dynamo-hooks copy-output --config-map out --request qwen --deadline 3600""",
)
@click.option("--config-map", required=True, metavar="NAME", help="The ConfigMap to write.")
@click.option(
    "--request", required=True, metavar="NAME", help="The request whose output this is; the ConfigMap's label names it."
)
@click.option("--request-uid", default="", metavar="UID", help="The request's uid, for an annotation of the ConfigMap.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("/data"),
    show_default=True,
    metavar="DIR",
    help="Where the profiler writes its files.",
)
@click.option(
    "--required",
    type=click.Choice([contract.PROFILER_OUTPUT, contract.PROFILER_MOCKER_OUTPUT, contract.PROFILER_FINAL_OUTPUT]),
    default=contract.PROFILER_OUTPUT,
    show_default=True,
    help="The file that the profiler must have written.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True),
    default=86_400.0,
    show_default=True,
    metavar="SECONDS",
    help="After how many seconds to give up, even if the profiler still runs.",
)
@click.option("--pod", envvar="POD_NAME", required=True, metavar="NAME", help="The name of this pod. [env: POD_NAME]")
@click.option(
    "--namespace",
    envvar="POD_NAMESPACE",
    required=True,
    metavar="NAME",
    help="The namespace of this pod. [env: POD_NAMESPACE]",
)
@click.option(
    "--account-folder",
    type=click.Path(path_type=Path),
    default=ACCOUNT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="Where the pod's ServiceAccount is mounted: token and ca.crt.",
)
def copy_output(  # noqa: PLR0913 - one parameter for each option
    *,
    config_map: str,
    request: str,
    request_uid: str,
    folder: Path,
    required: str,
    deadline: float,
    pod: str,
    namespace: str,
    account_folder: Path,
) -> None:
    """Wait until the container `profiler` of this pod has ended, then write its files into a ConfigMap.

    Meanwhile the ConfigMap has the phase and the message of a profiler that says them. The pod's status shows when it
    has ended. The ConfigMap is applied server-side and has no owner, so it outlives the Job and the request. The exit
    status is 0 when the ConfigMap is written, and 143 after SIGTERM. It is 1, with a sentence that is also the
    container's termination message, if the profiler failed, wrote no output or exceeded the deadline.

    The pod's ServiceAccount needs `get` on pods, `create` and `patch` on configmaps.
    """
    signal.signal(signal.SIGTERM, _leave)
    task = CopyTask(
        namespace=namespace,
        pod=pod,
        config_map=config_map,
        request=request,
        request_uid=request_uid,
        required=required,
        folder=str(folder),
    )
    try:
        server = _find_server(account_folder)
        OutputCopier(task=task, folder=folder, server=server, deadline_seconds=deadline, say=_say).run()
    except CopyFailed as failure:
        _say(str(failure))
        _write_termination_message(str(failure))
        sys.exit(1)


def _find_server(account_folder: Path) -> ApiServer:
    server = ApiServer.in_cluster(folder=account_folder)
    if server is None:
        raise CopyFailed(
            f"KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT or {account_folder / 'token'} is missing; run this in a "
            f"pod that mounts the token of its ServiceAccount"
        )
    return server


def _say(line: str) -> None:
    click.echo(line, err=True)


def _write_termination_message(text: str) -> None:
    """Write the container's termination message, if this runs in a container."""
    if _TERMINATION_LOG.is_file():
        try:
            _TERMINATION_LOG.write_text(text)
        except OSError as error:
            _say(f"{_TERMINATION_LOG} cannot be written: {error.strerror}")


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Exit at once; without a handler the first process of a container ignores SIGTERM."""
    sys.exit(128 + signal.SIGTERM)
