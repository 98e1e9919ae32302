"""Simulation, experiments and evaluation of players: many games by the rules alone, or whole leagues."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_league.lab.experiment.experiment import Experiment, ExperimentResults
    from agent_league.lab.tournament import Tournament

__all__ = ["Experiment", "ExperimentResults", "Tournament"]

_HOMES = {
    "Experiment": "agent_league.lab.experiment.experiment",
    "ExperimentResults": "agent_league.lab.experiment.experiment",
    "Tournament": "agent_league.lab.tournament",
}


def __getattr__(name: str) -> Any:
    """Import a class when it is asked for: processes that only play games start faster without the rest."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
