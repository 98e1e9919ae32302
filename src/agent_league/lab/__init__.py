"""Simulation, experiments and evaluation of players: many games by the rules alone, or whole leagues in one process."""

from agent_league.lab.experiment.experiment import Experiment, ExperimentResults
from agent_league.lab.tournament import Tournament

__all__ = ["Experiment", "ExperimentResults", "Tournament"]
