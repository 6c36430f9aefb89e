"""Rules about the form of an object: fields of the wrong type, objects that cannot be read."""

from hooks.problems import Reason, Rule

DEPTH = Rule(name="depth", text="the object is nested too deeply", reason=Reason.DEPTH)
