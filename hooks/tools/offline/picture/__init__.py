"""Pictures of graphs: boxes and links as values, and their forms, Mermaid and DOT.

`plan` decides what a picture shows, from the plans of the hooks. Each form has a module of its own; where a box stands
is decided by the program that draws the form. Pure: the same objects give the same bytes.
"""
