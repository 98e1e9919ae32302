"""Evaluation of one player: a private league against simple opponents, criteria and a report."""
