"""Unit tests of your own manifests: hooks without a server or a cluster, and objects as a cluster would hold them.

The pytest fixture `dynamo` is a `Dynamo` with default settings. pytest is needed only for that fixture.
"""

from hooks.offline.testing.answer import Answer
from hooks.offline.testing.differences import assert_has, assert_same
from hooks.offline.testing.dynamo import Dynamo
from hooks.offline.testing.hook import HookFailed
from hooks.offline.testing.prober import report_phase

__all__ = ["Answer", "Dynamo", "HookFailed", "assert_has", "assert_same", "report_phase"]
