"""Certificates of the admission port: made, kept in a Secret, trusted by webhooks."""
