"""`dynamo-hooks serve`: the hooks over HTTP, until SIGTERM."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from hooks.ground.settings import Settings, Switch
from hooks.server.clients.acting_prober import ActingProber, set_up_prober
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.changed_graphs import ChangedGraphWriter, find_graph_writer
from hooks.server.clients.inventory import find_counter, start_counting
from hooks.server.clients.locks import Locks, set_up_locks
from hooks.server.clients.model_reader import find_confirm
from hooks.server.clients.prober_client import RELAY_PATH
from hooks.server.commands.server_options import Capacity, capacity_options, retired_option
from hooks.server.commands.settings_options import parse_bind, read_prober_token, read_settings, settings_option
from hooks.server.commands.token_options import TokenFiles, token_options
from hooks.server.serving.callers import CallerToken
from hooks.server.serving.logs import logger, set_up_logging
from hooks.server.serving.server import ServerOptions, WsgiApp, run_server
from hooks.server.serving.web import ServedBy
from hooks.wire.metacontroller.effects import effects_of_api_server, without_api_server
from hooks.wire.metacontroller.plan_cache import cache_graphs

_ADMISSION = (
    "admission is a process of its own now: "
    "dynamo-hooks serve-admission --bind HOST:PORT --tls-cert FILE --tls-key FILE"
)
_DRAIN = "let something wait before SIGTERM, such as a preStop hook, and see --drain-file"


@click.command(
    epilog="""\b
Examples:
  dynamo-hooks serve
  dynamo-hooks serve --bind 0.0.0.0:8080 --token-file /etc/dynamo-hooks/callers/token
  dynamo-hooks serve --bind 0.0.0.0:8080 --set callers=any --workers 4
  dynamo-hooks serve --set discovery_backend=etcd --set etcd_address=http://etcd:2379
  DYNAMO_HOOKS_LOG_LEVEL=debug dynamo-hooks serve"""
)
@click.option(
    "--bind",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    callback=parse_bind,
    help="The address to listen on. Port 0 takes a free port and logs it.",
)
@token_options
@click.option(
    "--revision",
    default="",
    metavar="NAME",
    help="Name of this image with these settings. Who calls a URL with ?revision=OTHER is told to ask again soon.",
)
@capacity_options
@settings_option
@retired_option("--admission-bind", _ADMISSION)
@retired_option("--tls-cert", _ADMISSION)
@retired_option("--tls-key", _ADMISSION)
@retired_option("--drain", _DRAIN)
def serve(
    *,
    bind: str,
    tokens: TokenFiles,
    revision: str,
    capacity: Capacity,
    set_values: tuple[str, ...],
) -> None:
    """Serve the hooks over HTTP, for Metacontroller to call.

    /healthz, /readyz, /metrics and /metrics/prober, the metrics of the prober, ask for no token. On SIGTERM open
    requests are finished. SIGINT ends it at once. Log lines are JSON on standard error.
    """
    settings = read_settings(set_values)
    _expect_namespace(settings)
    read_prober_token()  # refused here, once, instead of in every worker
    set_up_logging(settings.log_level)
    cache_graphs(settings.cached_graphs)
    callers, relay = tokens.admit(bind, settings), tokens.admit_hooks_pods(settings)
    port = int(bind.rpartition(":")[2])
    prober = set_up_prober(settings, port, (lambda: relay.shown) if relay else None)
    served = ServedHooks(
        settings=settings,
        at_once=capacity.at_once,
        locks=set_up_locks(settings, holds=True),
        callers=callers,
        relay=relay,
        prober=prober,
        changed=find_graph_writer(settings, prober),
        drain_file=capacity.drain_file,
        revision=revision,
    )
    options = ServerOptions(
        bind=bind,
        workers=capacity.workers,
        strangers=capacity.peers,
        drain_file=capacity.drain_file,
        begin=served.begin,
        end=served.end,
        end_with_stdin=capacity.end_with_stdin,
    )
    run_server(options, served.load)


def _expect_namespace(settings: Settings) -> None:
    """End the process with status 2 if labels alone would say which parents are the installation's."""
    if settings.installation and not settings.installation_namespace:
        raise click.UsageError(
            f"the setting installation is {settings.installation}, and the setting installation_namespace is empty: "
            "anyone who writes the label of the installation in any namespace would be served; give both"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedHooks:
    """The parts of one server."""

    settings: Settings
    at_once: int
    locks: Locks
    callers: CallerToken | None
    relay: CallerToken | None
    prober: ActingProber
    changed: ChangedGraphWriter | None
    drain_file: Path | None
    revision: str

    @property
    def is_pod_ending(self) -> bool:
        """Whether the whole pod is about to end, not only a worker process."""
        return self.drain_file is not None and self.drain_file.exists()

    def begin(self, is_draining: Callable[[], bool]) -> None:
        """Start a worker's background threads."""
        from hooks.server.serving.resource_metrics import create_resource_metrics, show_resources  # noqa: PLC0415 - reads the environment when imported

        self.locks.renew(is_draining)
        self.prober.renew(lambda: self.is_pod_ending)
        if self.changed is not None:
            self.changed.start()
        if counter := find_counter(self.settings, lambda: datetime.now(UTC)):
            start_counting(counter, partial(show_resources, create_resource_metrics()))

    def end(self) -> None:
        """Make room for other pods: give the Leases up that this pod holds."""
        self.locks.release()
        if self.is_pod_ending or self.settings.hook_replicas > 1:  # an only prober outlives a restart of the hooks
            self.prober.turns.renew(lambda: True)

    def load(self, is_draining: Callable[[], bool]) -> WsgiApp:
        """Build the WSGI application."""
        from hooks.server.app import COUNT_READ, create_app  # noqa: PLC0415 - reads the environment when imported
        from hooks.server.clients.effects import EffectsClient, EffectsInTime  # noqa: PLC0415 - only a server in a cluster has one
        from hooks.server.clients.frontend_questions import FrontendQuestions  # noqa: PLC0415 - beside the application
        from hooks.server.clients.pod_reader import PodReader  # noqa: PLC0415 - beside the application
        from hooks.server.clients.query_reader import find_reader  # noqa: PLC0415 - beside the application
        from hooks.server.clients.relayed_questions import RelayedQuestions  # noqa: PLC0415 - beside the application
        from hooks.server.clients.relayed_requests import RelayedRequests  # noqa: PLC0415 - beside the application
        from hooks.server.routes import respect_locks, served_hooks  # noqa: PLC0415 - reads the environment when imported
        from hooks.server.serving.prober_relay import serve_relay  # noqa: PLC0415 - beside the application

        server = find_api_server(self.settings)
        settings = self.settings if server else without_api_server(self.settings)
        pods = PodReader(server, new_seconds=settings.lora_mandate)
        prober = replace(self.prober, confirm=find_confirm(settings, server))
        app = create_app(
            settings,
            lambda: datetime.now(UTC),
            carry_out=EffectsInTime(carry_out=EffectsClient(server=server, settings=settings)) if server else None,
            served_by=ServedBy(
                is_draining=is_draining,
                at_once=self.at_once,
                refuse=self.callers.refusal if self.callers else None,
                revision=self.revision,
            ),
            hooks=respect_locks(
                served_hooks(
                    settings,
                    prober.ask,
                    server,
                    check=pods.check,
                    source=find_reader(server),
                    frontends=FrontendQuestions(
                        ask=prober.ask_frontends, check=pods.check, can_push=self.changed is not None
                    ),
                ),
                self.locks.find_claim,
            ),
        )
        pods.report = app.extensions[COUNT_READ]
        if self.relay is not None:
            check = pods.check if settings.engine_addresses == "pods" else None
            relayed = RelayedRequests(
                send=prober.own.send, confirm=prober.confirm, check=check, engine_port=settings.engine_port
            )
            questions = RelayedQuestions(
                send=prober.own.send_question, check=pods.check, rule=settings.engine_addresses
            )
            sends = {"models": relayed.take, "frontends": questions.take}
            serve_relay(app, RELAY_PATH, sends, self.relay.refusal)
        return app


def find_api_server(settings: Settings) -> ApiServer | None:
    """The API server that effects act on, that knows the engines' pods, and from which objects are read on demand.

    None if no setting needs it, or (logged) none can be found.
    """
    effects, reads_pods = effects_of_api_server(settings), settings.engine_addresses == "pods"
    explains = settings.explain_pods is Switch.ON
    if not effects and not reads_pods and not explains:
        return None
    server = ApiServer.in_cluster()
    reason = "this is not a pod, or the pod does not mount a service account token"
    if server is None and effects:
        logger.warning("effects are switched off", extra={"fields": {"settings": list(effects), "reason": reason}})
    if server is None and reads_pods:
        fields = {"settings": ["engine_addresses"], "reason": reason}
        logger.warning("no engine is called, because no pod can be read", extra={"fields": fields})
    return server
