"""Alerts and dashboards of the chart, against the metrics of running processes."""
