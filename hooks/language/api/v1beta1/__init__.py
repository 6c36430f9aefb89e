"""The custom resources of version v1beta1, for schemas only: hooks read v1alpha1, `language.api.conversion` converts.

Source: Dynamo operator 1.x, api/v1beta1.
"""
