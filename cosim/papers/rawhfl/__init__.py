"""RawHFL: resource-aware hierarchical federated learning."""
