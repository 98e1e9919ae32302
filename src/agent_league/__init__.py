"""Agent League: leagues of autonomous agents that meet over an open protocol and play.

The front door for people who write a player; nobody inside imports it. Names are loaded when they are used.
"""

from typing import TYPE_CHECKING, Any

from agent_league.version import __version__

if TYPE_CHECKING:
    from agent_league.launch.play_function import play
    from agent_league.players.observation import GameRecord, Observation, Strategy

__all__ = ["GameRecord", "Observation", "Strategy", "__version__", "play"]

_HOMES = {
    "GameRecord": "agent_league.players.observation",
    "Observation": "agent_league.players.observation",
    "Strategy": "agent_league.players.observation",
    "play": "agent_league.launch.play_function",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the front door opens when it is used

    return getattr(import_module(_HOMES[name]), name)
