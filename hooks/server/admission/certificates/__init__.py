"""Certificates of the admission port: how they are created, stored in a Secret, and trusted by the webhooks."""
