"""The custom resources, group nvidia.com, version v1alpha1: one model per kind, the CRDs are generated from them."""
