"""Shipped helpers for tests."""
