"""Where the matches in play stand, for those who look: asked of the referees, and only while somebody does.

Chooses a few matches to show and keeps them until they are over; knows nothing of how a position is drawn. In a league
that hides something no position is asked for.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.agent.tasks import BackgroundTasks
from agent_league.errors import CallFailed
from agent_league.league.reachability import AgentCaller
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.visibility import hides_from_visitors

MAX_BOARDS = 6
ASK_SECONDS = 1.0
"""How often referees are asked, as long as somebody looks."""
ASK_TIMEOUT = 2.0
SILENT_SECONDS = 30.0
"""How long a referee isn't asked that has not answered, or has no positions to tell."""
LINGER_SECONDS = 4.0
"""How long a match that is over stays on its board."""


@dataclass(frozen=True, slots=True)
class MatchPosition:
    """Where a match stands, as its referee tells it: a stranger's words, but for the ids of players."""

    view: Any
    moves: int
    last: Mapping[int, Any]
    """The latest moves, by seat."""
    waiting_for: frozenset[int]
    """The seats whose move it is."""


@dataclass(slots=True)
class _ShownMatch:
    match_id: str
    position: MatchPosition | None = None
    over_since: float | None = None
    is_final: bool = False
    """Whether the position was asked for after the end."""

    def can_be_replaced(self, now: float) -> bool:
        """Whether the match has been over for a while."""
        return self.over_since is not None and now - self.over_since >= LINGER_SECONDS


class LivePositions:
    """A few of the matches in play, with their positions."""

    def __init__(self, state: LeagueState, caller: AgentCaller, tasks: BackgroundTasks) -> None:
        self._state = state
        self._caller = caller
        self._tasks = tasks
        self._boards: list[_ShownMatch] = []
        self._silent_until: dict[str, float] = {}
        self._asked_at = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def look(self) -> list[tuple[str, MatchPosition | None]]:
        """Return the matches that are shown, and ask for their positions anew unless that was done just now."""
        if hides_from_visitors(self._state.config.visibility) or self._state.phase is not LeaguePhase.RUNNING:
            return []
        now = asyncio.get_running_loop().time()
        self._choose_boards(now)
        is_idle = self._task is None or self._task.done()
        if is_idle and self._boards and now - self._asked_at >= ASK_SECONDS:
            self._asked_at = now
            self._task = self._tasks.start(self._ask_referees(now))
        return [(board.match_id, board.position) for board in self._boards]

    def _choose_boards(self, now: float) -> None:
        """Give boards to the matches in play, those of the leaders first; a match keeps its board until it is over."""
        state = self._state
        for board in self._boards:
            if board.match_id in state.results and board.over_since is None:
                board.over_since = now
        self._boards = [one for one in self._boards if one.over_since is None or one.match_id in state.results]
        free = [place for place, one in enumerate(self._boards) if one.can_be_replaced(now)]
        if len(self._boards) - len(free) == MAX_BOARDS:
            return
        shown = {board.match_id for board in self._boards}
        waiting = [one for one in self._list_playing() if one not in shown]
        for place in free[: len(waiting)]:
            self._boards[place] = _ShownMatch(waiting.pop(0))
        self._boards += [_ShownMatch(one) for one in waiting[: MAX_BOARDS - len(self._boards)]]

    def _list_playing(self) -> Iterable[str]:
        state = self._state
        playing = [one for one in state.assigned_referees if one not in state.results]
        if len(playing) > MAX_BOARDS:
            rank = {row.player_id: row.rank for row in state.standings()}
            playing.sort(key=lambda one: min(rank.get(player, len(rank)) for player in state.get_pairing(one).players))
        return playing

    async def _ask_referees(self, now: float) -> None:
        asked: dict[str, list[_ShownMatch]] = {}
        for board in self._boards:
            referee_id = self._state.assigned_referees.get(board.match_id)
            if referee_id and not board.is_final and self._silent_until.get(referee_id, 0) <= now:
                asked.setdefault(referee_id, []).append(board)
        await asyncio.gather(*(self._ask_referee(referee_id, boards) for referee_id, boards in asked.items()))

    async def _ask_referee(self, referee_id: str, boards: list[_ShownMatch]) -> None:
        member = self._state.roster.get(referee_id)
        if member is None:
            return
        over = {board.match_id for board in boards if board.over_since is not None}
        try:
            ids = [board.match_id for board in boards]
            answer = await self._caller.ask_agent(member, ASK_TIMEOUT, match_ids=ids, positions=True)
        except CallFailed:
            answer = None
        told = answer.get("positions") if isinstance(answer, Mapping) else None
        if not isinstance(told, Mapping):
            self._silent_until[referee_id] = asyncio.get_running_loop().time() + SILENT_SECONDS
            return
        for board in boards:
            position = _parse_position(told.get(board.match_id), self._state.get_pairing(board.match_id).players)
            board.position = position or board.position
            board.is_final = board.match_id in over


def _parse_position(told: Any, players: tuple[str, str]) -> MatchPosition | None:
    """Read a position as a referee tells it; None if it is none."""
    if not isinstance(told, Mapping) or told.get("view") is None:
        return None
    moves, last, waiting = told.get("moves"), told.get("last"), told.get("waiting_for")
    return MatchPosition(
        told["view"],
        moves if type(moves) is int and moves >= 0 else 0,
        {seat: last[player] for seat, player in enumerate(players) if player in last}
        if isinstance(last, Mapping)
        else {},
        frozenset(seat for seat, player in enumerate(players) if player in waiting)
        if isinstance(waiting, list)
        else frozenset(),
    )
