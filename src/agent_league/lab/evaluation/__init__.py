"""Judging one player: a private league against simple agents, and a report on how ready it is."""
