"""What differs between v1alpha1 and v1beta1, as tables of pairs: functions that lose nothing and never fail.

`component_pairs` are those of a component, `graph_pairs` of a graph and its status, `request_pairs` of a request. What
is no table of fields stands around them: `shapes` and `component_lists`. `written_paths` says where a field stands.

Source: Dynamo operator, api/v1alpha1/shared_spec_conversion.go and dynamographdeployment_conversion.go.
"""
