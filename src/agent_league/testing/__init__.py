"""Tools for tests: contracts for games and strategies, scripted peers, virtual time, and fault simulation."""
