"""What every HTTP server of ours shares: gunicorn, TLS, logs, metrics, request ids, health probes."""
