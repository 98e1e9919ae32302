"""Whole leagues put together: agents served in this process, or a fleet of processes."""
