"""How an object is converted between the stored version, the hub, and one other: what all versions share.

`version` says what a version is. `tables` applies a table of pairs: what one side cannot say is kept in an annotation
of the object (`payloads`), and comes back only while the live fields are still those that it was kept with.
"""
