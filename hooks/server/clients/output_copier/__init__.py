"""The container beside a profiler: it waits until the profiler ends, and copies its files into a ConfigMap."""
