"""The picture of the example in docs/offline.md: Graphviz draws what `dynamo-hooks graph -o dot` prints."""

import hashlib
import re
import subprocess

from hooks.tools.offline.picture.dot import write_dot
from tests.installation import ROOT
from tests.tools.offline.picture.drawn import pictures_of

EXAMPLE = ROOT / "examples" / "vllm-disagg-planner.yaml"


def draw_topology() -> str:
    """The picture as SVG; a comment says of which DOT it was drawn.

    Raises:
        OSError: Graphviz is not installed.
        CalledProcessError: it cannot draw it.
    """
    dot = read_dot()
    upright = ("-Grankdir=TB", "-Granksep=0.6")  # as wide as a page's column
    done = subprocess.run(["dot", "-Tsvg", *upright], input=dot, capture_output=True, text=True, timeout=60, check=True)
    drawn = re.sub(r"\A.*?(?=<svg)", "", done.stdout, flags=re.DOTALL)
    drawn = re.sub(r"<!--.*?-->\n?", "", drawn, flags=re.DOTALL)
    return f"<!-- DOT {digest(dot)} -->\n{drawn}"


def read_dot() -> str:
    """The DOT of the example."""
    return write_dot(pictures_of(EXAMPLE))


def digest(text: str) -> str:
    """A short digest that changes with the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
