"""v1beta1: all that differs in it from v1alpha1, which is stored. `version` is the value that says so.

`models` are its schemas, `conversion` its tables, `cel` the rules that the API server evaluates, `rules` their words,
`checks` the same rules for commands without a cluster, `resources` what `kubectl get` shows.

Source: Dynamo operator 1.x, api/v1beta1.
"""
