"""Every decision about the children of a scaling adapter, each before anything is built."""
