"""Ladders: how an always-open practice league pairs whoever is free. `base` is the seam."""
