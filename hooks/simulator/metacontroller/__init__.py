"""Metacontroller: its two kinds of controller, their caches and queues, and how they apply children."""
