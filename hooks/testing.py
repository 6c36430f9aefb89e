"""Unit tests of your own manifests: hooks without a server or a cluster, and objects as a cluster would hold them.

The pytest fixture `dynamo` is a `Dynamo` with default settings. pytest is needed only for that fixture.
"""

from hooks.tools.offline.testing.answer import Answer
from hooks.tools.offline.testing.differences import assert_has, assert_same
from hooks.tools.offline.testing.dynamo import Dynamo
from hooks.tools.offline.testing.hook import HookFailed
from hooks.tools.offline.testing.prober import report_phase

__all__ = ["Answer", "Dynamo", "HookFailed", "assert_has", "assert_same", "report_phase"]
