"""The pictures in docs/pictures, made by `make pictures` from what the project does, so that none is drawn by hand."""
