"""Shipped for tests: a contract for games, scripted peers, virtual time, and the simulated world of faults."""
