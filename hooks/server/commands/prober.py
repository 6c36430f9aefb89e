"""`dynamo-hooks prober`: the sidecar that loads, verifies and unloads LoRA adapters, until SIGTERM."""

import functools
from typing import Any

import click
from flask import Flask
from gunicorn.app.base import BaseApplication
from urllib3 import disable_warnings
from urllib3.exceptions import InsecureRequestWarning

from hooks.ground.settings import Settings
from hooks.model.prober.engine_rules import EngineRules
from hooks.model.prober.frontends.watch import MOST_CALLS
from hooks.model.prober.limits import Limits
from hooks.model.prober.reconciler import FIRST_TERM, NO_TERM
from hooks.server.clients.prober_token import TOKEN_VARIABLE
from hooks.server.commands.settings_options import (
    is_loopback,
    parse_bind,
    read_prober_token,
    read_settings,
    settings_option,
)
from hooks.server.prober.app import create_prober_app
from hooks.server.prober.connections import open_engines, open_frontends
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.frontend_api import FrontendClient
from hooks.server.prober.frontend_dispatcher import FrontendDispatcher
from hooks.server.prober.lora_api import open_transport, perform
from hooks.server.serving.files import raise_file_limit
from hooks.server.serving.logs import set_up_logging
from hooks.server.serving.memory import freeze_memory
from hooks.server.serving.server import TRUSTS_NOBODY, JsonLog, prepare_signals
from hooks.server.serving.standard_input import end_with_stdin_option, stop_with_stdin

_THREADS = 8
_KEEP_ALIVE_SECONDS = 75
_GRACE_SECONDS = 2


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn with one process, because the prober keeps its state in memory; its threads start in that process."""

    def __init__(self, settings: Settings, bind: str, token: str, *, ends_with_stdin: bool) -> None:
        self._settings, self._bind, self._token, self._ends_with_stdin = settings, bind, token, ends_with_stdin
        super().__init__()

    def load_config(self) -> None:
        """Take our own options; gunicorn's configuration file and environment variables are not read."""
        values: dict[str, Any] = {
            **TRUSTS_NOBODY,
            "bind": self._bind,
            "workers": 1,
            "threads": _THREADS,
            "worker_class": "gthread",
            "keepalive": _KEEP_ALIVE_SECONDS,
            "graceful_timeout": _GRACE_SECONDS,
            "preload_app": False,
            "proc_name": "dynamo-prober",
            "logger_class": JsonLog,
            "on_starting": prepare_signals,
            "post_worker_init": self._begin,
        }
        for key, value in values.items():
            self.cfg.set(key, value)

    def load(self) -> Flask:
        """Build the application, in the process that serves it."""
        limits = Limits.of(self._settings)
        files = raise_file_limit()
        asked = open_frontends(files)
        hosts = open_engines(files, calls=3 * limits.max_calls + MOST_CALLS + asked)
        dispatcher = Dispatcher(
            limits,
            functools.partial(perform, open_transport(hosts), rules=EngineRules.of(self._settings)),
            term=FIRST_TERM if self._settings.hook_replicas == 1 else NO_TERM,
        )
        frontends = FrontendDispatcher(
            FrontendClient.open(self._settings.engine_addresses, asked).perform,
            lambda: dispatcher.term,
            dispatcher.metrics.registry,
        )
        disable_warnings(InsecureRequestWarning)  # like the kubelet, it verifies no frontend's certificate
        dispatcher.start()
        frontends.start()
        return create_prober_app(dispatcher, frontends, token=self._token, max_body_bytes=self._settings.max_body_bytes)

    def _begin(self, worker: Any) -> None:
        freeze_memory()
        if self._ends_with_stdin:
            stop_with_stdin(worker)


@click.command(
    epilog=f"""\b
Examples:
  dynamo-hooks prober
  dynamo-hooks prober --bind 127.0.0.1:9292 --set lora_concurrency=20
  {TOKEN_VARIABLE}=… dynamo-hooks prober --set lora_verify_interval=2s
  curl 127.0.0.1:9191/v1/models/default/my-lora"""
)
@click.option(
    "--bind",
    default="127.0.0.1:9191",
    show_default=True,
    metavar="HOST:PORT",
    callback=parse_bind,
    help="The address to listen at.",
)
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Allow an address that other machines can reach. They can load adapters then, so set a token.",
)
@end_with_stdin_option
@settings_option
def prober(*, bind: str, allow_remote: bool, end_with_stdin: bool, set_values: tuple[str, ...]) -> None:
    """Load LoRA adapters on engines, verify them, reload lost adapters and unload those no longer wanted.

    Runs in the pod of the hooks. The hooks send it the wanted adapters over loopback, and it answers with what the
    engines report. It stores nothing: after a restart it asks the engines again. If the setting hook_replicas is above
    1, it acts only while the hooks say that their pod holds the Lease. If the environment variable
    DYNAMO_PROBER_TOKEN is set, requests must carry that token; the hooks need the same variable. Metrics are at
    /metrics. Log lines are JSON on standard error.
    """
    if not allow_remote and not is_loopback(bind):
        raise click.BadParameter(
            f"{bind} is not a loopback address; write one, or give --allow-remote if the hooks run in another pod",
            param_hint="--bind",
        )
    settings = read_settings(set_values)
    token = read_prober_token()
    set_up_logging(settings.log_level)
    _Server(settings, bind, token, ends_with_stdin=end_with_stdin).run()
