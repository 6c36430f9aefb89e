"""Every decision about the children of a request, each before anything is built."""
