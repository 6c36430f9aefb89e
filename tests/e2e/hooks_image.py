"""The image of these hooks as a folder of programs: `dynamo-hooks`, with the account that a kubelet would mount.

The API server of the tests mounts no tokens into pods; the kubelet gives their processes a kubeconfig instead.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TAG = "hooks"
IMAGE = f"registry.local/dynamo-hooks:{TAG}"

_PROGRAM = """\
#!{python}
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml

sys.path.insert(0, {root!r})
from hooks.server.commands.main import main

config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
cluster, account = config["clusters"][0]["cluster"], Path(os.environ["HOME"]) / "account"
account.mkdir(exist_ok=True)
(account / "token").write_text(config["users"][0]["user"]["token"])
(account / "ca.crt").write_text(Path(cluster["certificate-authority"]).read_text())
place = urlsplit(cluster["server"])
os.environ |= {{"KUBERNETES_SERVICE_HOST": place.hostname, "KUBERNETES_SERVICE_PORT": str(place.port)}}
main([*sys.argv[1:], f"--account-folder={{account}}"])
"""


def write_programs(folder: Path) -> Path:
    """Write the programs below the folder, and give where they are."""
    home = folder / "hooks-image"
    home.mkdir(parents=True, exist_ok=True)
    program = home / "dynamo-hooks"
    program.write_text(_PROGRAM.format(python=sys.executable, root=str(ROOT)))
    program.chmod(0o755)
    return home
