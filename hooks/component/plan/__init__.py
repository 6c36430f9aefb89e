"""Every decision about the children of a component, each before anything is built."""
