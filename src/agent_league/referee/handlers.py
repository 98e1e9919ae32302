"""Handlers of the referee's tools."""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from typing import Any

from agent_league.agent.dispatcher import OK, Handler, Reply
from agent_league.errors import ErrorCode, Refusal
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.checks import shown
from agent_league.protocol.envelope import Message
from agent_league.referee.finished_matches import PastMatch
from agent_league.referee.play import MatchPlay

STEPS = ("register_to_league", "collect_choices", "draw_number", "finalize_match")
"""Tools of seed 000 for steps that run by themselves here; they only tell the manager a match's state."""

MOST_ASKED = 10_000


class RefereeHandlers:
    """Handlers of the tools, by name in `handlers_by_method`."""

    def __init__(
        self,
        matches: Mapping[str, MatchPlay | PastMatch],
        running: Container[str],
        begin: Callable[[v2.StartMatch], Awaitable[None]],
        announced: Callable[[v2.RoundAnnouncement], Awaitable[None]],
        completed: Callable[[], None],
        voided: Callable[[Iterable[str]], None],
    ) -> None:
        self._matches = matches
        self._running = running
        self._begin = begin
        self._announced = announced
        self._completed = completed
        self._voided = voided

    def table(self) -> dict[str, Handler]:
        answers = ("game_join_ack", "choose_parity_response", "game_move_response")
        return {
            "start_match": self.start_match,
            "get_match_state": self.get_match_state,
            "notify_round": self.round_announced,
            "notify_league_completed": self.league_completed,
            **dict.fromkeys(answers, self.take_answer),
            "update_standings": self.take_notice,
            "notify_round_completed": self.round_completed,
            **dict.fromkeys(STEPS, self.tell_step),
        }

    async def start_match(self, message: v2.StartMatch) -> Reply:
        await self._begin(message)
        return OK

    async def get_match_state(self, params: Mapping[str, Any]) -> Reply:
        """Return a match's state and transcript, without messages as long as it is running.

        With `match_ids` in place of one id: the state of each, null for those that aren't running here.
        """
        if isinstance(asked := params.get("match_ids"), list):
            return {"matches": {str(match_id): self._state(str(match_id)) for match_id in asked[:MOST_ASKED]}}
        return self._find(params).told()

    def _state(self, match_id: str) -> str | None:
        return str(self._matches[match_id].state) if match_id in self._running else None

    async def round_announced(self, message: v2.RoundAnnouncement) -> Reply:
        await self._announced(message)
        return OK

    async def take_answer(self, message: Message) -> Reply:
        """Receive an answer that a player sends in a call of its own instead of in its response."""
        self._find({"match_id": message.match_id}).take(message)
        return OK

    async def take_notice(self, message: Any) -> Reply:
        return OK

    async def round_completed(self, message: v2.RoundCompleted) -> Reply:
        """Cancel matches of the round that the manager has made void, if they are still running here."""
        self._voided(message.void_match_ids or ())
        return OK

    async def league_completed(self, message: v2.LeagueCompleted) -> Reply:
        self._completed()
        return OK

    async def tell_step(self, params: Mapping[str, Any]) -> Reply:
        if "match_id" not in params:
            return {
                **OK,
                "matches": {match_id: str(match.state) for match_id, match in self._matches.items()},
            }
        return {**OK, "match_id": params["match_id"], "state": str(self._find(params).state)}

    def _find(self, params: Mapping[str, Any]) -> MatchPlay | PastMatch:
        match_id = params.get("match_id")
        if match_id is None:
            raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, "missing: match_id", missing_fields=["match_id"])
        match = self._matches.get(match_id) if isinstance(match_id, str) else None
        if match is None:
            raise Refusal(ErrorCode.MATCH_NOT_FOUND, "no such match here", match_id=shown(match_id))
        return match


def check_manager(sender: object) -> None:
    """Raise Refusal unless the sender is the league manager."""
    if sender != Role.LEAGUE_MANAGER:
        raise Refusal(
            ErrorCode.AUTH_TOKEN_INVALID,
            "only the league manager may call this",
            field="sender",
            expected=str(Role.LEAGUE_MANAGER),
            received=shown(sender),
        )
