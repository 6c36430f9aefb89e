"""Scenarios on real processes of the runtime; each drives only the API server and a frontend's HTTP port."""
