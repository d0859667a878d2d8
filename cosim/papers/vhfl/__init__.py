"""VHFL: vertical-horizontal federated learning."""
