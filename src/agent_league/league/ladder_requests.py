"""What players ask for on a practice ladder: matches, answers to others' requests; each is stored before it is told.

Whether the caller may speak for the player was decided before.
"""

from collections.abc import Awaitable, Callable

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.ladder_record import RunningQueue
from agent_league.league.state import LeagueState


class LadderRequests:
    """The requests of one ladder. Each method returns what comes of it as a sentence, and raises a Refusal."""

    def __init__(self, state: LeagueState, wait_for_commit: Callable[[], Awaitable[None]]) -> None:
        self._state = state
        self._wait_for_commit = wait_for_commit

    async def ask(self, player_id: str, opponent: str) -> str:
        """Ask for a match on behalf of a player; `opponent` is an id or a name."""
        return await self._keep(self._get_queue().request_match(player_id, self._state.find_player_id(opponent)))

    async def answer(self, player_id: str, asker_id: str, *, is_accepted: bool) -> str:
        """Accept or decline the match that another player asks for."""
        return await self._keep(self._get_queue().answer_request(player_id, asker_id, is_accepted=is_accepted))

    async def take_back(self, player_id: str, opponent_id: str) -> str:
        """Take back a request of one's own."""
        return await self._keep(self._get_queue().take_back_request(player_id, opponent_id))

    async def _keep(self, sentence: str) -> str:
        await self._wait_for_commit()
        return sentence

    def _get_queue(self) -> RunningQueue:
        queue = self._state.ladder.queue if self._state.ladder else None
        if queue is None:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "this league is no practice ladder; it pairs by its schedule")
        return queue
