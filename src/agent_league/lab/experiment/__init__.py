"""Experiments: every pair of players, in every game, with every seed; from a file, on one machine or many."""
