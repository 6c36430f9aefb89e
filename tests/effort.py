"""How many random cases the tests try: all of them in CI, a part of them elsewhere."""

import os

IN_CI = os.environ.get("CI") == "true"

STEPS = 40_000 if IN_CI else 5_000
"""Steps of tests/sequences in the simulated cluster, over all roads."""


def examples(full: int) -> int:
    """How many examples a property is tried on, of those in CI; costly properties alone ask for this."""
    return full if IN_CI else full // 5
