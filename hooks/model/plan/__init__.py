"""Every decision about the children of a model, each before anything is built."""
