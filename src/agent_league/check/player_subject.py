"""A player under check, and the messages of its referee, in `league.v2` and `league.v1`."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from agent_league.agent.dialects import LeagueFacts, dialect_of
from agent_league.agent.match_dialects import MatchDialect, match_dialect_of
from agent_league.check.fields import get_field, take_as_came
from agent_league.check.http_probe import HttpProbe
from agent_league.check.listener import IncomingCall, Listener
from agent_league.check.scripted_agents import EVEN_ODD, CheckerManager, format_now
from agent_league.check.subject import CheckOptions, Exchange, Subject, ValidCall
from agent_league.clock import SystemClock, format_utc_after
from agent_league.errors import BadAnswer, ConfigError, UserError
from agent_league.games.base import CHANCE, Move
from agent_league.games.draw import compute_commitment
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import Game, load_game, load_playable_game
from agent_league.model.agents import Role, supports_game
from agent_league.model.results import StandingsRow
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.protocol import v1, v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import FORM_BY_NAME, is_message_of_type, normalise
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.ids import derive_league_uuid
from agent_league.protocol.v1.messages import format_seconds
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.text import MAX_PHRASE, quote, shorten

REFEREE_SENDER = "referee:REF01"
ROUND_ID = 9
PUSHED_ANSWER = "a call of its own to the referee"
JOIN, CHOOSE, MOVE = "handle_game_invitation", "choose_parity", "make_move"
CHOICES = ("even", "odd")
PLAYER_ROLES = ("PLAYER_A", "PLAYER_B")
DRAW_SEED = "0" * 64
"""The seed behind every `draw_commitment`, revealed by GAME_OVER in matches without one."""


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """What a player is asked in a check: a parity choice, or the first move of a game that it names."""

    game_type: str = EVEN_ODD
    method: str = CHOOSE
    role: str = PLAYER_ROLES[0]
    legal_moves: Sequence[Move] = CHOICES
    move_request: dict[str, Any] = field(default_factory=dict)
    unplayable_reason: str = ""
    """Why no game of the player can be played here; empty if one can."""


PARITY_QUESTION = CheckQuestion()


def choose_question(games: Sequence[str], asked: str | None = None) -> CheckQuestion:
    """Choose the question for a player that names these games: Even/Odd if it plays that or names none.

    `asked` is the game to judge it in, whatever it names.
    """
    if asked is not None and asked != EVEN_ODD:
        games = [asked]
    elif asked or not games or supports_game(games, EVEN_ODD):
        return PARITY_QUESTION
    problems: list[str] = []
    for name in games:
        try:
            return _make_opening_question(load_playable_game(name, {}))
        except Exception as error:  # noqa: BLE001 - a game may be anybody's
            problems.append(
                shorten(error, MAX_PHRASE)
                if isinstance(error, UserError)
                else f"{quote(name)}: {quote(error, MAX_PHRASE)}"
            )
    missing = f"the player takes only games that can't be played here: {'; '.join(problems[:3])}"
    return CheckQuestion(games[0], MOVE, legal_moves=(), unplayable_reason=missing)


def _make_opening_question(game: Game) -> CheckQuestion:
    """Make the first question of a match; chance moves take their first outcome."""
    rules = game.rules
    state = rules.new(game.parameters)
    while (actors := rules.actors(state)) == (CHANCE,):
        state = rules.apply(state, {CHANCE: rules.legal(state, CHANCE)[0][0]})
    seat = actors[0]
    legal = rules.legal(state, seat)
    asked = PlainWire().question(game.game_type, rules.view(state, seat), legal, 0, PLAYER_ROLES[seat])
    return CheckQuestion(game.game_type, MOVE, PLAYER_ROLES[seat], legal, asked["move_request"])


@dataclass(frozen=True, slots=True)
class TrialMatch:
    """The ids of a match in which the player is only tested."""

    match_id: str
    conversation_id: str


class TrialPlayer(Subject):
    """A player under check in either protocol: is invited to matches and asked in them."""

    protocol: ClassVar[str]
    reply_types: ClassVar[Mapping[str, str]]
    """Method -> the type of its answer."""
    right_answers: ClassVar[Mapping[str, Mapping[str, Any]]]
    """Method -> valid values for the fields that only its answer has."""
    question: CheckQuestion = PARITY_QUESTION
    """The question of this check."""
    _match_count = 0

    @property
    def match_dialect(self) -> MatchDialect:
        return match_dialect_of(self.protocol)

    @property
    def given_id(self) -> str:
        return self.match_dialect.name_player(self.agent_id)

    def get_limit(self, method: str) -> float:
        """Return the limit of a call; that of an invitation depends on the protocol."""
        return self.options.get_limit(method, self.match_dialect.join_timeout_setting if method == JOIN else None)

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

    def is_valid_answer(self, exchange: Exchange) -> bool:
        return exchange.answer is not None

    def make_valid_call(self) -> ValidCall:
        """Make an invitation, or a question if the player answers no invitations."""
        match = self.new_match()
        answered = {name for name, exchange in self.exchanges.items() if exchange.answer is not None}
        asked = self.question.method
        method = asked if asked in answered and JOIN not in answered else JOIN
        return ValidCall(method, self.write_call(method, match), self.reply_types[method], self.sign_match_token(match))

    def new_match(self, conversation_id: str | None = None) -> TrialMatch:
        self._match_count += 1
        match_id = f"R{ROUND_ID}M{self._match_count}"
        return TrialMatch(match_id, conversation_id or self.make_conversation_id(match_id))

    def make_conversation_id(self, match_id: str) -> str:
        raise NotImplementedError

    def sign_match_token(self, match: TrialMatch) -> str | None:
        """Sign the token that authorizes the referee of this match at the player; None in a protocol without tokens."""
        raise NotImplementedError

    def write_call(self, method: str, match: TrialMatch) -> dict[str, Any]:
        """Write the invitation to a match, or the question in it."""
        raise NotImplementedError

    async def send_question(self, method: str, match: TrialMatch, message: Mapping[str, Any] | None = None) -> Exchange:
        """Send an invitation or a question of a match in the call form that the player understands."""
        asked = message or self.write_call(method, match)
        return await self.ask(method, asked, wanted=self.reply_types[method], bearer=self.sign_match_token(match))

    def get_expected_fields(self, method: str) -> dict[str, Any]:
        """Return what the envelope of the answer to an earlier question must say."""
        raise NotImplementedError

    def find_problem(self, method: str, *paths: str) -> str | None:
        """Return why our own referee refuses an answer with these fields as they came; None if it accepts it.

        All other fields get right values. Without paths, the fields that have no steps of their own are judged.
        """
        came, expected = self.exchanges[method].answer or {}, self.get_expected_fields(method)
        right: dict[str, Any] = {
            "protocol": self.protocol,
            "message_type": self.reply_types[method],
            "timestamp": format_now(),
            "auth_token": self.token or "tok",
            **expected,
            **self.right_answers[method],
        }
        if method == MOVE and self.question.legal_moves:
            right["move_data"] = self.question.legal_moves[0]
        answer = take_as_came(right, came, *(paths or (name for name in came if name not in right)))
        reader = self.match_dialect.make_answer_parser(strict=False, expected=expected)
        try:
            if method == JOIN:
                reader.parse_join_answer(answer)
            else:
                reader.parse_move_answer(EvenOddWire() if method == CHOOSE else PlainWire(), answer)
        except BadAnswer as error:
            return error.message
        return None


class PlayerSubject(TrialPlayer):
    """A player of `league.v2` under check; writes the messages of its referee."""

    protocol = PROTOCOL_V2
    reply_types: ClassVar = {JOIN: "GAME_JOIN_ACK", CHOOSE: "CHOOSE_PARITY_RESPONSE", MOVE: "GAME_MOVE_RESPONSE"}
    right_answers: ClassVar = {
        JOIN: {"accept": True, "arrival_timestamp": "2025-01-15T10:30:00Z"},
        CHOOSE: {"parity_choice": "even"},
        MOVE: {"move_data": None},
    }

    def __init__(
        self, probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
    ) -> None:
        super().__init__(probe, options, key, manager)
        self.match_tokens: set[str] = set()
        """All match tokens that were shown to the player."""
        self._referee = Listener(Role.REFEREE)
        self.servers = (self._referee,)
        self._pushes_answers: bool | None = None
        """Whether the player sends its answers as calls to the referee; None: not known yet."""

    @property
    def referee_endpoint(self) -> str:
        return self._referee.endpoint

    async def open(self) -> None:
        await super().open()
        heard = await self.manager.wait_for_registration(self.probe.url, 0) if self.manager else None
        self.question = choose_question(list_named_games(heard), self.options.game)

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

    def make_conversation_id(self, match_id: str) -> str:
        return f"conv-{match_id.lower()}-001"

    def get_expected_fields(self, method: str) -> dict[str, Any]:
        asked = self.exchanges[method].message
        copied = {name: asked[name] for name in ("conversation_id", "match_id")}
        return {"sender": f"player:{self.agent_id}", "player_id": self.agent_id, **copied}

    def sign_match_token(self, match: TrialMatch) -> str:
        """Sign the token that authorizes the referee of this match at the player."""
        pairing = Pairing(match.match_id, ROUND_ID, self.agent_id, self.opponent_id)
        token = self.token_signer.issue_match_tokens(pairing, "REF01").shared_token
        self.match_tokens.add(token)
        return token

    def write_call(self, method: str, match: TrialMatch) -> dict[str, Any]:
        if method == JOIN:
            return self._write_invitation(match)
        return self._write_parity_call(match) if method == CHOOSE else self.write_move_call(match)

    def write_full_call(self, method: str, match: TrialMatch) -> dict[str, Any]:
        """Write an invitation or a question with all the fields that our own referee sends."""
        commitment = compute_commitment(DRAW_SEED)
        if method == JOIN:
            return self._write_invitation(
                match, draw_commitment=commitment, game_parameters=self._get_game_parameters()
            )
        call = self.write_call(method, match)
        return {**call, "context": {**call["context"], "draw_commitment": commitment}}

    def _get_game_parameters(self) -> dict[str, Any]:
        try:
            return dict(load_game(self.question.game_type).parameters)
        except ConfigError:
            return {}

    def _write_invitation(self, match: TrialMatch, **more: Any) -> dict[str, Any]:
        return self._write_match_message(
            v2.GameInvitation,
            match,
            game_type=self.question.game_type,
            role_in_match=self.question.role,
            opponent_id=self.opponent_id,
            **more,
        )

    def _write_parity_call(self, match: TrialMatch) -> dict[str, Any]:
        return self._write_match_message(
            v2.ChooseParityCall,
            match,
            deadline=self._make_deadline(CHOOSE),
            player_id=self.agent_id,
            game_type=EVEN_ODD,
            context=self._make_context(),
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
            message="nothing is wrong: this is the GAME_ERROR of a check",
            affected_player=self.agent_id,
            player_id=self.agent_id,
            action_required=self.reply_types[self.question.method],
            game_state="COLLECTING_CHOICES",
            retryable=True,
            retry_info={**retry, "next_retry_at": format_utc_after(SystemClock().now(), 2)},
            consequence="Nothing follows from it",
            **retry,
        )

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


class V1PlayerSubject(TrialPlayer):
    """A player of `league.v1` under check: bare messages, no methods and no tokens.

    A question goes by the method of `league.v2` that has the same time limit.
    """

    protocol = PROTOCOL_V1
    reply_types: ClassVar = {JOIN: "GAME_INVITATION_RESPONSE", CHOOSE: "PLAY_RESPONSE"}
    right_answers: ClassVar = {
        JOIN: {"status": "READY"},
        CHOOSE: {"play": {"action": "choose", "value": "even"}},
    }
    copied_fields: ClassVar = ("league_id", "round_id", "match_id", "conversation_id")

    def __init__(
        self, probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
    ) -> None:
        super().__init__(probe, options, key, manager)
        self.call_form = FORM_BY_NAME["bare"]

    @property
    def dialect(self) -> str:
        return ", ".join([PROTOCOL_V1, *dict.fromkeys(self.deviations)])

    def make_conversation_id(self, match_id: str) -> str:
        return str(uuid.uuid4())

    def sign_match_token(self, match: TrialMatch) -> None:
        return None

    def get_expected_fields(self, method: str) -> dict[str, Any]:
        asked = self.exchanges[method].message
        return {"sender": self.given_id, **{name: asked[name] for name in self.copied_fields}}

    def write_call(self, method: str, match: TrialMatch) -> dict[str, Any]:
        if method == JOIN:
            limit = format_seconds(getattr(self.options.timeouts, self.match_dialect.join_timeout_setting))
            opponent = self.match_dialect.name_player(self.opponent_id)
            info: dict[str, Any] = {"game_type": EVEN_ODD, "opponent_id": opponent, "your_role": "challenger"}
            return self.write_message(v1.GameInvitation, match, game_info={**info, "timeout_seconds": limit})
        state = {"turn_number": 1, "timeout_seconds": 30, "game_specific_state": {"previous_plays": []}}
        return self.write_message(v1.PlayRequest, match, game_state=state)

    def write_message(self, model: type[v1.V1Message], match: TrialMatch, **fields: Any) -> dict[str, Any]:
        """Write a message of the referee in a match."""
        return model.write(
            league_id=derive_league_uuid(self.league_id),
            round_id=ROUND_ID,
            match_id=match.match_id,
            conversation_id=match.conversation_id,
            sender="referee",
            timestamp=format_millis(SystemClock().now()),
            **fields,
        ).to_wire()

    def write_notice(self, method: str) -> Mapping[str, Any]:
        """Write a notice of the manager as our own does, for a league of one match that the player has won."""
        pairing = Pairing("R9M1", ROUND_ID, self.agent_id, self.opponent_id)
        champion = StandingsRow(1, self.agent_id, "Champion", 1, 1, 0, 0, 3, 1)
        table = (champion, StandingsRow(2, self.opponent_id, "Opponent", 1, 0, 0, 1, 0, 2))
        facts = LeagueFacts(
            now=SystemClock().now(),
            league_uuid=derive_league_uuid(self.league_id),
            game_type=EVEN_ODD,
            rounds=(LeagueRound(ROUND_ID, (pairing,)),),
            current_round=ROUND_ID,
            player_count=2,
            result_count=1,
            champion=champion,
            ranking=table,
            ranking_after_round=table,
        )
        return dialect_of(PROTOCOL_V1).adapt_notice(method, {"round_id": ROUND_ID}, lambda: facts) or {}


def list_named_games(heard: IncomingCall | None) -> list[str]:
    """List the games that a player names in its registration; empty without one."""
    games = get_field(heard.message, "player_meta.game_types") if heard else None
    return [game for game in games if isinstance(game, str)] if isinstance(games, list) else []
