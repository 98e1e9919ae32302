"""How players are called in games by messages, and who watches these games. It calls nobody."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from agent_league.config.models import TimeoutConfig
from agent_league.lab.evaluation.model import MoveCounts, PracticeGame

if TYPE_CHECKING:
    from agent_league.lab.evaluation.running_player import RunningPlayer


@dataclass(frozen=True, slots=True)
class CalledGame:
    """A game by messages, as the first player of its matchup saw it."""

    opponent: str
    """The label of the other."""
    game: PracticeGame
    moves: MoveCounts | None
    """What its strategy was asked in this game; None: it is a running player."""
    is_failing: bool
    """Whether so many calls to it failed in a row that a league would leave it alone."""


class CallWatcher(Protocol):
    """Sees the games by messages, and decides what becomes of players that fail. It is called in another thread."""

    def add_game(self, called: CalledGame) -> bool:
        """Take note of a game; return whether its pair is to play no more."""
        ...

    async def end_games(self, players: "Mapping[str, RunningPlayer]") -> None:
        """Take leave of the running players, by address, after the last game; they are still connected."""
        ...


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How running players are called."""

    timeout: float | None = None
    """Upper bound in seconds for every call; None: the timeouts alone."""
    wait_seconds: float = 5.0
    """Seconds for a player to appear and to register."""
    manager_port: int | None = None
    timeouts: TimeoutConfig = field(default_factory=TimeoutConfig)
    protocols: Mapping[str, str] = field(default_factory=dict)
    """By label, the protocol that a player speaks; of others at addresses it is found out."""
    max_seconds: float | None = None
    """Seconds for all games together: what is under way then is left; None: no limit."""
    watcher: CallWatcher | None = None
    """Who is told of each game; None: nobody, and a player that keeps failing ends the run."""
