"""Every decision about the children of a graph, each before anything is built."""
