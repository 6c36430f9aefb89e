"""What a command that reads one graph does not load: looking for it, or loading it, takes long."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "vllm-disagg.yaml"
NOT_NEEDED = frozenset(
    {
        "hooks.language.v1beta1.models",
        "hooks.language.cel.kinds",
        "hooks.language.v1beta1.resources",
        "hooks.language.v1beta1.conversion.parts",
    }
    | {"flask", "gunicorn", "requests", "prometheus_client"}
)
CODE = """
import sys
from hooks.server.commands.main import main
try:
    main(sys.argv[1:], standalone_mode=False)
finally:
    import json
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["validate", "render", "graph", "diff"])
def test_command_with_a_v1alpha1_graph_loads_neither_v1beta1_nor_servers(command: str) -> None:
    files = [str(EXAMPLE)] * (2 if command == "diff" else 1)
    done = subprocess.run([sys.executable, "-c", CODE, command, *files], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert [name for name in loaded if name in NOT_NEEDED] == []
    assert "hooks.tools.offline.manifests.reading" in loaded
