"""What every served process shares: gunicorn, TLS, log lines, metrics, request ids and probes."""
