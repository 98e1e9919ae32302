"""The cup of `league demo`: who plays in it, how fast, and the boards as they are.

All agents are real ones, at addresses of their own, in one process. The strategies are wrapped, so that a person can
follow the moves, and so that the positions are known here: Connect Four hides nothing, and no message tells them.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.players.decision import ask_strategy
from agent_league.players.observation import Observation, Strategy, Thought
from agent_league.players.strategies import load_strategy
from agent_league.players.strategies.minimax import Minimax

GAME = "connect_four"
CUP_PLAYERS: Mapping[str, Callable[[], Strategy]] = {
    "Deep Minimax": Minimax,
    "Mirror": lambda: load_strategy("mirror"),
    "Quick Minimax": lambda: Minimax(2_000),
    "Random": lambda: load_strategy("random"),
    "Short Minimax": lambda: Minimax(300),
    "Biased": lambda: load_strategy("biased"),
    "Alternating": lambda: load_strategy("alternating"),
    "Tiny Minimax": lambda: Minimax(60),
}
"""Display names in the order of their ids, and how each plays."""
MOVE_SECONDS = 0.35
"""How long a move takes at least, for a person to follow."""
ROUND_SECONDS = 2.0
"""How long the first move of a match takes: the boards of the round before stay as long."""
HURRY_AFTER_SECONDS = 40.0
"""From then on moves take no longer than they need, so that the cup is over within a minute."""


@dataclass(frozen=True, slots=True)
class CupBoard:
    """A position of a match that is played or over."""

    match_id: str
    round_id: int
    player_ids: tuple[str, str]
    """By seat."""
    view: Any
    winner: int | None = None
    """The seat that has won."""
    is_over: bool = False


@dataclass(slots=True)
class CupBoards:
    """The boards of the latest round, by match."""

    boards: dict[str, CupBoard] = field(default_factory=dict)

    def show_board(self, board: CupBoard) -> None:
        """Show a position; the boards of earlier rounds go."""
        self.boards = {key: one for key, one in self.boards.items() if one.round_id == board.round_id}
        self.boards[board.match_id] = board

    def list_boards(self) -> list[CupBoard]:
        return [self.boards[key] for key in sorted(self.boards)]


class PacedStrategy:
    """Plays as another strategy does, but not faster than `MOVE_SECONDS` a move, and shows each position."""

    def __init__(self, strategy: Strategy, boards: CupBoards, clock: "CupClock") -> None:
        self._strategy = strategy
        self._boards = boards
        self._clock = clock

    async def choose(self, observation: Observation) -> Thought:
        now = asyncio.get_running_loop().time()
        pause = asyncio.create_task(asyncio.sleep(self._clock.seconds_for(observation.step, now)))
        try:
            thought = await ask_strategy(self._strategy, observation)
            await pause
        finally:
            pause.cancel()
        if board := make_board(observation, thought.move):
            self._boards.show_board(board)
        return thought


@dataclass(slots=True)
class CupClock:
    """How much time each move takes; `is_paced` is False where nobody looks."""

    is_paced: bool
    _began: float | None = None

    def seconds_for(self, step: int, now: float) -> float:
        """Return how long a move should take; the first call begins the cup."""
        self._began = now if self._began is None else self._began
        if not self.is_paced or now - self._began > HURRY_AFTER_SECONDS:
            return 0.0
        return MOVE_SECONDS if step else ROUND_SECONDS


def make_board(observation: Observation, move: Any) -> CupBoard | None:
    """Make the board after a move; None if the rules don't take the move, which the referee will say."""
    rules, seat = observation.rules, observation.seat
    if rules is None or not observation.is_legal(move):
        return None
    view = rules.apply(observation.view, {seat: move})
    is_over = not rules.actors(view)
    returns = rules.returns(view) if is_over else (0.0, 0.0)
    winner = None if returns[0] == returns[1] else int(returns[1] > returns[0])
    own, other = observation.player_id, observation.opponent_id or ""
    ids = (own, other) if seat == 0 else (other, own)
    return CupBoard(observation.match_id, observation.round_id or 0, ids, view, winner, is_over)


def make_cup_plan(home: Path, first_port: int, boards: CupBoards, *, is_paced: bool) -> LeaguePlan:
    """Plan the cup in a new folder, with agents at ports from `first_port` on; the manager's is the first."""
    make_home(home)
    settings = {"scheduling.format": "knockout", "scheduling.stages": []}
    request = LeagueRequest(
        home=home,
        players=len(CUP_PLAYERS),
        referees=2,
        game=GAME,
        manager_port=first_port,
        referee_port=first_port + 1,
        player_port=first_port + 3,
    )
    plan = make_league_plan(ConfigLoader(home, settings), request)
    clock = CupClock(is_paced)
    seats = [
        replace(
            seat,
            settings=replace(seat.settings, display_name=name),
            strategy=PacedStrategy(make(), boards, clock),
        )
        for seat, (name, make) in zip(plan.players, CUP_PLAYERS.items(), strict=True)
    ]
    return replace(plan, players=tuple(seats)).with_manager_options(web=True, stay=True)
