"""Pictures of graphs: boxes and links as values, and their forms Mermaid, DOT, SVG and HTML.

`plan` decides what a picture shows, from the plans of the hooks. `layout` decides where, and each form has a module of
its own. Pure: the same objects give the same bytes.
"""
