"""Tests of the project: folders as in `hooks/`, modules named after the subject that they test.

A test's folder is that of the code it tests; tests of what lies at the root, or spans folders, lie at the root. Modules
are not mirrored one by one: one behaviour often needs several modules of a folder, and moves between them without a
test being changed. `cluster` runs on a real API server, `simulator` and `sequences` on the one in memory, `golden` has
whole answers.
"""
