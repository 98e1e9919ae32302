"""Agents that dial out, and whoever would misuse that."""
