"""A league as files: a static site, tables, one document."""
