"""The container beside a profiler: it waits for the profiler's end and hands its files over as a ConfigMap."""
