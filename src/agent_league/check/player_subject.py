"""A player under check, and the messages of its referee."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent_league.check.fields import get_field
from agent_league.check.http_probe import HttpProbe
from agent_league.check.listener import IncomingCall, Listener
from agent_league.check.questions import (
    CHOICES,
    CHOOSE,
    EVEN_ODD,
    MOVE,
    PARITY_QUESTION,
    CheckQuestion,
    choose_question,
)
from agent_league.check.scripted_agents import CheckerManager, format_now
from agent_league.check.subject import CheckOptions, Exchange, Subject, ValidCall
from agent_league.clock import SystemClock, format_utc_after
from agent_league.errors import BadAnswer, ConfigError
from agent_league.games.draw import compute_commitment
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import load_game
from agent_league.model.agents import Role
from agent_league.model.schedule import Pairing
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import is_message_of_type, normalise
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.referee.answers import AnswerParser

REFEREE_SENDER = "referee:REF01"
ROUND_ID = 9
PUSHED_ANSWER = "a call of its own to the referee"
JOIN = "handle_game_invitation"
REPLY_TYPES = {JOIN: "GAME_JOIN_ACK", CHOOSE: "CHOOSE_PARITY_RESPONSE", MOVE: "GAME_MOVE_RESPONSE"}

DRAW_SEED = "0" * 64
"""The seed behind every `draw_commitment`, revealed by GAME_OVER in matches without one."""
RIGHT_ANSWERS: dict[str, dict[str, Any]] = {
    JOIN: {"accept": True, "arrival_timestamp": "2025-01-15T10:30:00Z"},
    CHOOSE: {"parity_choice": "even"},
    MOVE: {"move_data": None},
}
"""Method -> valid values for the fields that only its answer has."""


@dataclass(frozen=True, slots=True)
class TrialMatch:
    """The ids of a match in which the player is only tested."""

    match_id: str
    conversation_id: str


class PlayerSubject(Subject):
    """A player under check; writes and sends the messages of its referee."""

    role = Role.PLAYER

    def __init__(
        self, probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
    ) -> None:
        super().__init__(probe, options, key, manager)
        self._match_count = 0
        self.match_tokens: set[str] = set()
        """All match tokens that were shown to the player."""
        self._referee = Listener(Role.REFEREE)
        self.servers = (self._referee,)
        self.question: CheckQuestion = PARITY_QUESTION
        """The question of this check, chosen in `open` by the games that the player names."""
        self._pushes_answers: bool | None = None
        """Whether the player sends its answers as calls to the referee; None: not known yet."""

    @property
    def referee_endpoint(self) -> str:
        return self._referee.endpoint

    async def open(self) -> None:
        await super().open()
        heard = await self.manager.wait_for_registration(self.probe.url, 0) if self.manager else None
        self.question = choose_question(list_named_games(heard))

    async def post(
        self, body: bytes, method: str = "", message: Mapping[str, Any] | None = None, **more: Any
    ) -> Exchange:
        """Send raw bytes; if the call is only acknowledged, wait for an answer that comes as a call to the referee."""
        exchange = await super().post(body, method, message, **more)
        wanted = more.get("wanted")
        if exchange.answer is not None and self._pushes_answers is None:
            self._pushes_answers = False
        if (
            wanted is None
            or exchange.answer is not None
            or not exchange.is_acknowledged
            or self._pushes_answers is False
        ):
            return exchange
        pushed = await self._wait_for_pushed_answer(wanted, exchange.message.get("match_id"), self.get_limit(method))
        self._pushes_answers = self._pushes_answers or pushed is not None
        return exchange if pushed is None else replace(exchange, answer=pushed, place=PUSHED_ANSWER)

    async def _wait_for_pushed_answer(self, wanted: str, match_id: Any, limit: float) -> Mapping[str, Any] | None:
        def found() -> list[Mapping[str, Any]]:
            calls = [call.message for call in self._referee.received_calls if call.message.get("match_id") == match_id]
            return [message for message in calls if is_message_of_type(wanted, message)]

        await self._referee.wait_until(found, limit)
        return next((normalise(wanted, message)[0] for message in found()), None)

    @property
    def opponent_id(self) -> str:
        return "P02" if self.agent_id != "P02" else "P01"

    @property
    def has_valid_answer(self) -> bool:
        return any(exchange.answer is not None for exchange in self.exchanges.values())

    @property
    def unjudged_reason(self) -> str:
        if self.has_valid_answer:
            return self.question.unplayable_reason
        return "it answered neither an invitation nor a question"

    def new_match(self, conversation_id: str | None = None) -> TrialMatch:
        self._match_count += 1
        match_id = f"R9M{self._match_count}"
        return TrialMatch(match_id, conversation_id or f"conv-{match_id.lower()}-001")

    def make_valid_call(self) -> ValidCall:
        """Make an invitation, or a question if the player answers no invitations."""
        match = self.new_match()
        answered = {name for name, exchange in self.exchanges.items() if exchange.answer is not None}
        asked = self.question.method
        method = asked if asked in answered and JOIN not in answered else JOIN
        message = self.write_invitation(match) if method == JOIN else self.write_question(match)
        return ValidCall(method, message, REPLY_TYPES[method], self.sign_match_token(match))

    def is_valid_answer(self, exchange: Exchange) -> bool:
        return exchange.answer is not None

    def sign_match_token(self, match: TrialMatch) -> str:
        """Sign the token that authorizes the referee of this match at the player."""
        pairing = Pairing(match.match_id, ROUND_ID, self.agent_id, self.opponent_id)
        token = self.token_signer.issue_match_tokens(pairing, "REF01").shared_token
        self.match_tokens.add(token)
        return token

    def write_invitation(self, match: TrialMatch, **more: Any) -> dict[str, Any]:
        return self._write_match_message(
            v2.GameInvitation,
            match,
            game_type=self.question.game_type,
            role_in_match=self.question.role,
            opponent_id=self.opponent_id,
            **more,
        )

    def write_full_invitation(self, match: TrialMatch) -> dict[str, Any]:
        """Write an invitation with all the fields that our own referee sends."""
        return self.write_invitation(
            match, draw_commitment=compute_commitment(DRAW_SEED), game_parameters=self._get_game_parameters()
        )

    def write_full_question(self, match: TrialMatch) -> dict[str, Any]:
        """Write the question of this check with all the fields that our own referee sends."""
        call = self.write_question(match)
        return {**call, "context": {**call["context"], "draw_commitment": compute_commitment(DRAW_SEED)}}

    def find_problem(self, method: str, *names: str) -> str | None:
        """Return why our own referee refuses an answer with these fields as they came; None if it accepts it.

        All other fields get right values. Without names, the fields that have no steps of their own are judged.
        """
        exchange = self.exchanges[method]
        came = exchange.answer or {}
        expected = {
            "sender": f"player:{self.agent_id}",
            "player_id": self.agent_id,
            **{name: exchange.message[name] for name in ("conversation_id", "match_id")},
        }
        right: dict[str, Any] = {
            "protocol": PROTOCOL_V2,
            "message_type": REPLY_TYPES[method],
            "timestamp": format_now(),
            "auth_token": self.token or "tok",
            **expected,
            **RIGHT_ANSWERS[method],
        }
        if method == MOVE and self.question.legal_moves:
            right["move_data"] = self.question.legal_moves[0]
        looked_at = names or tuple(name for name in came if name not in right)
        answer = {name: value for name, value in right.items() if name not in looked_at}
        answer |= {name: came[name] for name in looked_at if name in came}
        reader = AnswerParser(PROTOCOL_V2, expected=expected)
        try:
            if method == JOIN:
                reader.parse_join_answer(answer)
            else:
                reader.parse_move_answer(EvenOddWire() if method == CHOOSE else PlainWire(), answer)
        except BadAnswer as error:
            return error.message
        return None

    def _get_game_parameters(self) -> dict[str, Any]:
        try:
            return dict(load_game(self.question.game_type).parameters)
        except ConfigError:
            return {}

    def write_question(self, match: TrialMatch) -> dict[str, Any]:
        """Write the question of this check for a match."""
        return self.write_parity_call(match) if self.question.method == CHOOSE else self.write_move_call(match)

    def write_parity_call(self, match: TrialMatch, **more: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {"player_id": self.agent_id, "game_type": EVEN_ODD, "context": self._make_context()}
        return self._write_match_message(
            v2.ChooseParityCall, match, deadline=self._make_deadline(CHOOSE), **{**fields, **more}
        )

    def write_move_call(self, match: TrialMatch, **moves: Any) -> dict[str, Any]:
        """Write a GAME_MOVE_CALL with the question's own move request; in Even/Odd with `moves` or the two choices."""
        plain = {"move_type": EVEN_ODD, "context": {}, "step": 0, "your_role": self.question.role}
        listed = moves or {"valid_options": list(CHOICES)}
        return self._write_match_message(
            v2.GameMoveCall,
            match,
            player_id=self.agent_id,
            game_type=self.question.game_type,
            context=self._make_context(),
            move_request=self.question.move_request or {**plain, **listed},
            deadline=self._make_deadline(MOVE),
        )

    def write_game_over(self, match: TrialMatch, **result: Any) -> dict[str, Any]:
        fields = {"game_type": self.question.game_type, "game_result": result, "draw_seed": DRAW_SEED}
        return self._write_match_message(v2.GameOver, match, **fields)

    def write_game_error(self, match: TrialMatch) -> dict[str, Any]:
        retry = {"retry_count": 1, "max_retries": 3}
        return self._write_match_message(
            v2.GameError,
            match,
            error_code="E001",
            error_name="TIMEOUT_ERROR",
            error_description="TIMEOUT_ERROR",
            message="no answer within 30 s",
            affected_player=self.agent_id,
            player_id=self.agent_id,
            action_required=REPLY_TYPES[self.question.method],
            game_state="COLLECTING_CHOICES",
            retryable=True,
            retry_info={**retry, "next_retry_at": format_utc_after(SystemClock().now(), 2)},
            consequence="Technical loss if no valid answer comes after retries",
            **retry,
        )

    async def send_question(self, method: str, message: Mapping[str, Any], match: TrialMatch) -> Exchange:
        """Send a question of a match in the call form that the player understands."""
        return await self.ask(method, message, wanted=REPLY_TYPES[method], bearer=self.sign_match_token(match))

    def _write_match_message(self, model: type[Message], match: TrialMatch, **fields: Any) -> dict[str, Any]:
        return model.write(
            **self.make_envelope(REFEREE_SENDER, match.conversation_id),
            auth_token=self.sign_match_token(match),
            league_id=self.league_id,
            round_id=ROUND_ID,
            match_id=match.match_id,
            **fields,
        ).to_wire()

    def _make_context(self) -> dict[str, Any]:
        standings = {"wins": 0, "losses": 0, "draws": 0}
        return {"opponent_id": self.opponent_id, "round_id": ROUND_ID, "your_standings": standings}

    def _make_deadline(self, method: str) -> str:
        return format_utc_after(SystemClock().now(), self.get_limit(method))


def list_named_games(heard: IncomingCall | None) -> list[str]:
    """List the games that a player names in its registration; empty without one."""
    games = get_field(heard.message, "player_meta.game_types") if heard else None
    return [game for game in games if isinstance(game, str)] if isinstance(games, list) else []
