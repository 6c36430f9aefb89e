"""Tests of exchanges over HTTP with peers that do anything."""
