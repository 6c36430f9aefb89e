"""Where each value of a rendered object comes from, found by experiments on the very build that renders it.

There are two ways to know where a value comes from. Values could carry their origin through the build; but hooks write
parents as JSON and read them again (`hooks.wire.metacontroller.parent_key`), check them with Pydantic, and build
texts from parts, and each of these steps loses what a value carries. A table beside the build would soon be wrong. So
nothing is
declared here, and the build knows nothing of it:

* `experiments` renders again with one input changed: a field of the manifest, a setting, an optional kind, another
  object of the file. A leaf of the result that then has the new value was copied from that input; one that contains the
  new text is made from it; one that gets another value, or is missing, is decided by it.
* `overridden` takes the copied field away, and sees which value appears in its place.
* `levers` looks in the schema for fields that end like the leaf, writes them, and keeps those that the leaf follows.

A build takes a few milliseconds, and a graph has some hundred inputs. Only objects that their schema accepts are built.
Two inputs that change a leaf only together are not found, except a name together with the object that has it.
"""
