"""The custom resources of version v1beta1, for schemas only: hooks read v1alpha1.

Source: Dynamo operator 1.x, api/v1beta1.
"""
