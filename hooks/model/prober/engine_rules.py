"""Which calls the prober makes, whoever asks for them: what it can judge without a right at the API server.

Whether an address is that of a pod, and whether a stored model asks for the adapter, the hooks judge.
"""

from dataclasses import dataclass

from hooks.ground.settings import Settings, Switch
from hooks.language.rules.model import FILE, REMOTE
from hooks.model.prober.calls import EngineAction, EngineCall
from hooks.model.seen.engine_addresses import AddressRule, find_refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRules:
    """The settings `engine_addresses`, `engine_port` and `lora_file_sources`.

    With `engine_addresses=pods` the hooks have compared the port with the pod's too.
    """

    addresses: AddressRule
    port: int
    takes_files: bool

    @classmethod
    def of(cls, settings: Settings) -> "EngineRules":
        """The rules of the settings."""
        return cls(
            addresses=settings.engine_addresses,
            port=settings.engine_port,
            takes_files=settings.lora_file_sources is Switch.ON,
        )

    def find_refusal(self, call: EngineCall) -> str:
        """Why the call is not made; empty if it is."""
        if refusal := find_refusal(call.address, self.addresses):
            return refusal
        port = call.address.rpartition(":")[2]
        if self.addresses == "routable" and port != str(self.port):
            return f"not called: its port {port} is not that of engines (setting engine_port)"
        if call.action is EngineAction.LOAD:
            return self._refuse_source(call.uri)
        return ""

    def _refuse_source(self, uri: str) -> str:
        if uri.startswith(FILE):
            return "" if self.takes_files else "not loaded: its source is a file (setting lora_file_sources)"
        return "" if uri.startswith(REMOTE) else f"not loaded: its source does not start with {' or '.join(REMOTE)}"
