"""The language of the custom resources: their types and versions, their CRDs, and the rules that judge them."""
