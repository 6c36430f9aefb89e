"""Benchmarks: hooks and admission compared with an echo on the same server, and the prober's speed and cost."""
