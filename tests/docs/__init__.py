"""The pages in docs/: their generated parts, links, commands and files."""
