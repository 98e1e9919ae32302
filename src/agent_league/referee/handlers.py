"""Handlers of the referee's tools."""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from typing import Any

from agent_league.agent.dispatcher import OK, Handler, HandlerReply
from agent_league.errors import ErrorCode, Refusal
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.checks import describe_value
from agent_league.protocol.envelope import Message
from agent_league.referee.finished_matches import FinishedMatch
from agent_league.referee.play import MatchPlay

STEP_TOOLS = ("register_to_league", "collect_choices", "draw_number", "finalize_match")
"""Tools of seed 000 for steps that run by themselves here; they only tell the manager a match's state."""

MAX_MATCH_IDS = 10_000


class RefereeHandlers:
    """Handlers of the tools, by name in `handlers_by_method`."""

    def __init__(
        self,
        matches: Mapping[str, MatchPlay | FinishedMatch],
        running: Container[str],
        begin: Callable[[v2.StartMatch], Awaitable[None]],
        announced: Callable[[v2.RoundAnnouncement], Awaitable[None]],
        completed: Callable[[], None],
        voided: Callable[[Iterable[str]], None],
    ) -> None:
        self._matches = matches
        self._running_ids = running
        self._on_start_match = begin
        self._on_round_announced = announced
        self._on_league_completed = completed
        self._on_matches_void = voided

    def handlers_by_method(self) -> dict[str, Handler]:
        answers = ("game_join_ack", "choose_parity_response", "game_move_response")
        return {
            "start_match": self.start_match,
            "get_match_state": self.get_match_state,
            "notify_round": self.handle_round_announcement,
            "notify_league_completed": self.handle_league_completed,
            **dict.fromkeys(answers, self.receive_answer),
            "update_standings": self.ignore_notice,
            "notify_round_completed": self.handle_round_completed,
            **dict.fromkeys(STEP_TOOLS, self.get_match_step),
        }

    async def start_match(self, message: v2.StartMatch) -> HandlerReply:
        await self._on_start_match(message)
        return OK

    async def get_match_state(self, params: Mapping[str, Any]) -> HandlerReply:
        """Return a match's state and transcript, without messages as long as it is running.

        With `match_ids` in place of one id: the state of each, null for those that aren't running here.
        """
        if isinstance(asked := params.get("match_ids"), list):
            return {
                "matches": {str(match_id): self._running_state(str(match_id)) for match_id in asked[:MAX_MATCH_IDS]}
            }
        return self._find_match(params).to_match_state()

    def _running_state(self, match_id: str) -> str | None:
        return str(self._matches[match_id].state) if match_id in self._running_ids else None

    async def handle_round_announcement(self, message: v2.RoundAnnouncement) -> HandlerReply:
        await self._on_round_announced(message)
        return OK

    async def receive_answer(self, message: Message) -> HandlerReply:
        """Receive an answer that a player sends in a call of its own instead of in its response."""
        self._find_match({"match_id": message.match_id}).receive_answer(message)
        return OK

    async def ignore_notice(self, message: Any) -> HandlerReply:
        return OK

    async def handle_round_completed(self, message: v2.RoundCompleted) -> HandlerReply:
        """Cancel matches of the round that the manager has made void, if they are still running here."""
        self._on_matches_void(message.void_match_ids or ())
        return OK

    async def handle_league_completed(self, message: v2.LeagueCompleted) -> HandlerReply:
        self._on_league_completed()
        return OK

    async def get_match_step(self, params: Mapping[str, Any]) -> HandlerReply:
        if "match_id" not in params:
            return {
                **OK,
                "matches": {match_id: str(match.state) for match_id, match in self._matches.items()},
            }
        return {**OK, "match_id": params["match_id"], "state": str(self._find_match(params).state)}

    def _find_match(self, params: Mapping[str, Any]) -> MatchPlay | FinishedMatch:
        match_id = params.get("match_id")
        if match_id is None:
            raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, "missing: match_id", missing_fields=["match_id"])
        match = self._matches.get(match_id) if isinstance(match_id, str) else None
        if match is None:
            raise Refusal(ErrorCode.MATCH_NOT_FOUND, "no such match here", match_id=describe_value(match_id))
        return match


def check_sender_is_manager(sender: object) -> None:
    """Raise Refusal unless the sender is the league manager."""
    if sender != Role.LEAGUE_MANAGER:
        raise Refusal(
            ErrorCode.AUTH_TOKEN_INVALID,
            "only the league manager may call this",
            field="sender",
            expected=str(Role.LEAGUE_MANAGER),
            received=describe_value(sender),
        )
