"""NVIDIA's profiler of Dynamo 1.5.1 with the data that it searches, all from wheels, as the programs of an image.

The wheel lacks one module of the source tree, by which a thorough search creates graphs. A quick search needs a single
function of it, which has nothing to clean up then.
"""

from pathlib import Path

from tests.e2e.releases import IMPORTED, Release, install_into

NAME = "1.5.1"
"""The newest release whose profiler and data are both on the public index."""
DATA = ("aiconfigurator==0.12.0", "aiconfigurator-core==0.12.0")
_OWN = ("kubernetes-asyncio==36.1.0", "pydantic==2.13.5", "scikit-learn==1.9.1")
_DEPLOYMENT = '''\
class DeploymentFailedError(Exception):
    """Never raised by a quick search."""


class DynamoDeploymentClient:
    """Never used by a quick search."""


async def cleanup_remaining_deployments(clients, namespace):
    """A quick search leaves no graphs."""
'''


def install_profiler(folder: Path) -> Release:
    """Install the profiler below the folder, unless it is there; it also has the runtime's frontend and mocker.

    Raises:
        NotInstalled: its wheels, or what they import, cannot be installed.
    """
    own = {name.partition("==")[0] for name in _OWN}
    imported = [name for name in IMPORTED if name.partition("==")[0] not in own]
    home = folder / f"profiler-{NAME}"
    release = install_into(home, NAME, (*imported, *_OWN, *DATA))
    for packages in home.glob("lib/python3*/site-packages"):
        (packages / "deploy" / "utils").mkdir(parents=True, exist_ok=True)
        (packages / "deploy" / "utils" / "dynamo_deployment.py").write_text(_DEPLOYMENT)
    return release
