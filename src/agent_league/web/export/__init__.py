"""Exports a league as files: a static site, CSV tables, a JSON document."""
