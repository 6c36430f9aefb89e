"""A process gives free memory back to the system, which otherwise stays in its heaps."""

import ctypes
import subprocess
import sys
import textwrap

import pytest

HAS_GLIBC = hasattr(ctypes.CDLL(None), "malloc_trim")

FRAGMENTED = """
    from hooks.server.serving import free_memory

    {change}
    memory = free_memory.FreeMemory()
    before = free_memory.read_resident_bytes()
    pieces = [bytes(5000) for _ in range(10_000)]
    grown = free_memory.read_resident_bytes()
    del pieces[:-1]  # the last piece keeps the heap from shrinking at its end
    kept = free_memory.read_resident_bytes()
    memory.give_back()
    print(grown - before, kept - before, free_memory.read_resident_bytes() - before)
"""


def measure(change: str = "") -> tuple[int, int, int]:
    """MiB of growth with 48 MiB of small pieces, after all but one are freed, and after free memory is given back."""
    program = textwrap.dedent(FRAGMENTED).format(change=change)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    grown, kept, left = (int(text) // 2**20 for text in done.stdout.split())
    return grown, kept, left


@pytest.mark.skipif(not HAS_GLIBC, reason="the C library is not glibc")
def test_free_pages_between_live_ones_are_given_back() -> None:
    grown, kept, left = measure()
    assert grown > 40
    assert kept > 40
    assert left < 8


@pytest.mark.skipif(not HAS_GLIBC, reason="the C library is not glibc")
def test_little_growth_is_left_alone() -> None:
    _, kept, left = measure("free_memory.MOST_GROWTH = 2**30")
    assert left == kept
