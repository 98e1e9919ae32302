"""The steps for a player of `league.v1`: bare messages, no methods and no tokens."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent_league.check.fields import MISSING, get_field, judge_timestamp, judge_type, judge_value, make_message_judge
from agent_league.check.frames import build_server_steps
from agent_league.check.hostile_input import build_hostile_steps, build_survival_step
from agent_league.check.http_probe import HttpProbe, format_redacted, quote_redacted
from agent_league.check.player import judge_latency
from agent_league.check.registration import judge_registering, require_registration, tolerate_if_registered
from agent_league.check.scripted_agents import CheckerManager
from agent_league.check.steps import (
    AnyStep,
    CheckStep,
    StepFinding,
    StepVerdict,
    failed,
    judge_like_league,
    passed,
    tolerate,
    tolerate_judge,
    warned,
)
from agent_league.check.subject import CheckOptions, Exchange, Subject, ValidCall
from agent_league.clock import SystemClock
from agent_league.errors import BadAnswer
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.protocol import v1
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import FORM_BY_NAME
from agent_league.protocol.v1.envelope import UUID_PATTERN, format_millis
from agent_league.protocol.v1.ids import derive_league_uuid, to_v1_player_id
from agent_league.protocol.v1.messages import format_seconds
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.answers import AnswerParser

JOIN, PLAY = "GAME_INVITATION_RESPONSE", "PLAY_RESPONSE"
LIMIT_METHODS = {JOIN: "handle_game_invitation", PLAY: "choose_parity"}
"""Type of the answer -> the method of `league.v2` with the same time limit."""
COPIED_FIELDS = ("league_id", "round_id", "match_id", "conversation_id")
CHOICES = ("even", "odd")


class V1PlayerSubject(Subject):
    """A player of `league.v1` under check; writes and sends the messages of its referee and manager."""

    def __init__(
        self, probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
    ) -> None:
        super().__init__(probe, options, key, manager)
        self.call_form = FORM_BY_NAME["bare"]
        self._match_count = 0

    def get_limit(self, method: str) -> float:
        """Return the limit of a call; for an invitation the one that the invitation itself states."""
        if method != LIMIT_METHODS[JOIN]:
            return super().get_limit(method)
        limit = self.options.timeouts.v1_game_join_ack_timeout_sec
        return limit if self.options.timeout is None else min(limit, self.options.timeout)

    @property
    def given_id(self) -> str:
        return to_v1_player_id(self.agent_id)

    @property
    def opponent_id(self) -> str:
        return "player_002" if self.given_id != "player_002" else "player_001"

    @property
    def dialect(self) -> str:
        return ", ".join([PROTOCOL_V1, *dict.fromkeys(self.deviations)])

    @property
    def has_valid_answer(self) -> bool:
        return any(exchange.answer is not None for exchange in self.exchanges.values())

    @property
    def unjudged_reason(self) -> str:
        return "" if self.has_valid_answer else "it answered neither an invitation nor a question"

    def new_match(self) -> dict[str, Any]:
        self._match_count += 1
        return {"match_id": f"R9M{self._match_count}", "conversation_id": str(uuid.uuid4())}

    def write_message(self, model: type[v1.V1Message], sender: str, **fields: Any) -> dict[str, Any]:
        match = self.new_match() if "conversation_id" not in fields else {}
        return model.write(
            league_id=derive_league_uuid(self.league_id),
            round_id=9,
            sender=sender,
            timestamp=format_millis(SystemClock().now()),
            **{**match, **fields},
        ).to_wire()

    def write_notice(self, model: type[v1.V1Message], **fields: Any) -> dict[str, Any]:
        """Write a notice of the manager, which belongs to no match."""
        return self.write_message(model, "league_manager", conversation_id=str(uuid.uuid4()), **fields)

    def write_invitation(self, **match: Any) -> dict[str, Any]:
        info: dict[str, Any] = {"game_type": "even_odd", "opponent_id": self.opponent_id, "your_role": "challenger"}
        info["timeout_seconds"] = format_seconds(self.options.timeouts.v1_game_join_ack_timeout_sec)
        return self.write_message(v1.GameInvitation, "referee", game_info=info, **match)

    def write_play_request(self, **match: Any) -> dict[str, Any]:
        state = {"turn_number": 1, "timeout_seconds": 30, "game_specific_state": {"previous_plays": []}}
        return self.write_message(v1.PlayRequest, "referee", game_state=state, **match)

    def make_valid_call(self) -> ValidCall:
        return ValidCall(LIMIT_METHODS[JOIN], self.write_invitation(), JOIN)

    def is_valid_answer(self, exchange: Exchange) -> bool:
        return exchange.answer is not None

    def find_problem(self, kind: str, path: str) -> str | None:
        """Return why our own referee refuses an answer with this field as it came; None if it accepts it."""
        exchange = self.exchanges[kind]
        expected = {"sender": self.given_id, **{name: exchange.message[name] for name in COPIED_FIELDS}}
        own: dict[str, Any] = {"status": "READY"} if kind == JOIN else {"play": {"action": "choose", "value": "even"}}
        now = format_millis(SystemClock().now())
        right: dict[str, Any] = {"protocol": PROTOCOL_V1, "message_type": kind, "timestamp": now, **expected, **own}
        *outer, name = path.split(".")
        inside = right[outer[0]] if outer else right
        value = get_field(exchange.answer or {}, path)
        inside.pop(name, None)
        if value is not MISSING:
            inside[name] = value
        reader = AnswerParser(PROTOCOL_V1, expected=expected)
        try:
            if kind == JOIN:
                reader.parse_join_answer(right)
            else:
                reader.parse_move_answer(EvenOddWire(), right)
        except BadAnswer as error:
            return error.message
        return None

    async def send_message(self, message: Mapping[str, Any], wanted: str | None = None) -> Exchange:
        return await self.ask(LIMIT_METHODS.get(wanted or "", "notify_match_result"), message, wanted=wanted)


def build_player_v1_steps() -> list[AnyStep]:
    """Build all steps in order."""
    return [
        *build_server_steps(),
        *_build_registration_steps(),
        _build_notice_step("LEAGUE_START_ANNOUNCEMENT", _write_announcement),
        *_build_question_steps("GAME_INVITATION", JOIN, V1PlayerSubject.write_invitation),
        _build_value_step(
            "status", '"READY"', 'Answer an invitation with "status": "READY".', JOIN, "status", ("READY",)
        ),
        _build_notice_step("GAME_START", _write_game_start),
        *_build_question_steps("PLAY_REQUEST", PLAY, V1PlayerSubject.write_play_request),
        _judge_like_referee(
            PLAY,
            "play.action",
            _build_value_step(
                "play.action", '"choose"', 'Put "action": "choose" into \'play\'.', PLAY, "play.action", ("choose",)
            ),
        ),
        _build_value_step(
            "play.value",
            '"even" or "odd", in small letters',
            'Put the choice into \'play.value\': exactly "even" or "odd", in small letters and without blanks.',
            PLAY,
            "play.value",
            CHOICES,
        ),
        _build_notice_step("PLAY_VALIDATION (VALID)", lambda subject: _write_validation(subject, "VALID", None)),
        _build_notice_step(
            "PLAY_VALIDATION (INVALID)", lambda subject: _write_validation(subject, "INVALID", "Invalid choice format")
        ),
        *(_build_notice_step(f"GAME_RESULT ({how})", _make_result_writer(how)) for how in ("WIN", "DRAW", "FORFEIT")),
        build_survival_step("GAME_RESULT"),
        _build_notice_step("ROUND_COMPLETE", _write_round_complete),
        CheckStep(
            "unknown fields are ignored",
            f"a {JOIN}",
            "Ignore fields that you don't know: leagues add their own.",
            _make_join_judge(lambda subject: {**subject.write_invitation(), "weather": {"sunny": [True, None]}}),
        ),
        CheckStep(
            "two matches at once are kept apart",
            "each answer with match_id and conversation_id of its own question",
            "Take match_id and conversation_id from the message that you answer.",
            tolerate_judge(_judge_two_matches),
        ),
        *build_hostile_steps(),
        _build_notice_step("LEAGUE_COMPLETE", _write_league_complete),
    ]


def _build_registration_steps() -> list[AnyStep]:
    kind = "LEAGUE_REGISTER_REQUEST"

    def request(subject: V1PlayerSubject) -> Mapping[str, Any]:
        return require_registration(subject).message

    def field(path: str, judge: Callable[[Mapping[str, Any]], StepFinding]) -> AnyStep:
        hint = f"Put '{path}' into {kind} as the messages of {PROTOCOL_V1} have it."
        step: AnyStep = CheckStep(
            f"{kind}: {path}", f"as in {PROTOCOL_V1}", hint, make_message_judge(request, lambda _, found: judge(found))
        )
        return step if path.endswith("contact_endpoint") else tolerate_if_registered(step)

    return [
        CheckStep(
            "registers with the manager",
            f"a {kind}",
            "Start the agent with the checker as its manager.",
            judge_registering,
        ),
        field("protocol", lambda found: judge_value(found, "protocol", PROTOCOL_V1)),
        field("league_id", lambda found: _judge_uuid(found, "league_id")),
        field("round_id", lambda found: judge_value(found, "round_id", 0)),
        field("match_id", lambda found: judge_value(found, "match_id", "REGISTRATION")),
        field("conversation_id", lambda found: _judge_uuid(found, "conversation_id")),
        field("sender", lambda found: judge_type(found, "sender", str)),
        field("timestamp", lambda found: judge_timestamp(found, "timestamp")),
        field("player_meta.display_name", lambda found: judge_type(found, "player_meta.display_name", str)),
        field("player_meta.version", lambda found: judge_type(found, "player_meta.version", str)),
        field("player_meta.game_types", lambda found: judge_type(found, "player_meta.game_types", list)),
        field("player_meta.contact_endpoint", lambda found: judge_type(found, "player_meta.contact_endpoint", str)),
    ]


def _judge_uuid(message: Mapping[str, Any], name: str) -> StepFinding:
    found = judge_type(message, name, str)
    if found.verdict is StepVerdict.PASS and not UUID_PATTERN.fullmatch(message[name]):
        return failed(f"'{name}' is {quote_redacted(message[name], 120)}, which is no UUID")
    return found


def _build_question_steps(
    asked: str, kind: str, write: Callable[[V1PlayerSubject], Mapping[str, Any]]
) -> list[AnyStep]:
    """Build the steps on a question: whether it is answered, and the answer's envelope and latency."""

    async def asks(subject: V1PlayerSubject) -> StepFinding:
        exchange = subject.store_exchange(kind, await subject.send_message(write(subject), kind))
        if exchange.answer is None:
            other = kind.replace("PLAY", "MOVE")
            moved = (
                subject.store_exchange(kind, await subject.send_message(write(subject), other))
                if other != kind
                else exchange
            )
            if moved.answer is None:
                subject.store_exchange(kind, exchange)
                return failed(exchange.reply_text)
            return warned(f"a {other}", f"Call the answer {kind}: so it is written; MOVE is only another word for it.")
        if exchange.place != "the bare body":
            subject.deviations.append(f"answers in {exchange.place}")
            return warned(f"a {kind}, but in {exchange.place}", "Answer with the bare message as the body.")
        return passed(f"a {kind}")

    def answer(subject: V1PlayerSubject) -> Mapping[str, Any]:
        return subject.require_exchange(kind, kind).answer or {}

    async def takes(subject: V1PlayerSubject) -> StepFinding:
        return judge_latency(subject.require_exchange(kind, kind).reply.seconds, subject.get_limit(LIMIT_METHODS[kind]))

    def field(name: str, judge: Callable[[Any, Mapping[str, Any]], StepFinding], hint: str) -> AnyStep:
        return _judge_like_referee(
            kind,
            name,
            CheckStep(f"{kind}: {name}", f"as {PROTOCOL_V1} has it", hint, make_message_judge(answer, judge)),
        )

    def copied(name: str) -> AnyStep:
        return field(
            name,
            lambda subject, found: judge_value(found, name, subject.exchanges[kind].message[name]),
            f"Copy '{name}' from {asked} into {kind}.",
        )

    return [
        CheckStep(
            f"{asked} is answered",
            f"a {kind} as the body",
            f"Answer a posted {asked} with a bare {kind}.",
            asks,
        ),
        field("protocol", lambda _, found: judge_value(found, "protocol", PROTOCOL_V1), 'Put "protocol": "league.v1".'),
        *(copied(name) for name in COPIED_FIELDS),
        field(
            "sender",
            lambda subject, found: (
                judge_value(found, "sender", subject.given_id)
                if subject.registration
                else judge_type(found, "sender", str)
            ),
            "Put your own id into 'sender', such as player_001.",
        ),
        field(
            "timestamp",
            lambda _, found: judge_timestamp(found, "timestamp"),
            "Write 'timestamp' in UTC: 2025-12-13T22:05:01.000Z.",
        ),
        CheckStep(f"{kind}: in time", "less than half of the limit", f"Answer {asked} faster.", takes),
    ]


def _judge_like_referee(kind: str, path: str, step: AnyStep) -> AnyStep:
    """Make a step on a field of an answer fail only if a referee of ours refuses such an answer."""
    return judge_like_league(step, lambda subject: subject.find_problem(kind, path))


def _build_value_step(name: str, expected: str, hint: str, kind: str, path: str, values: tuple[str, ...]) -> AnyStep:
    """Build the step on a field that must have one of these values."""

    def judge(_: Any, answer: Mapping[str, Any]) -> StepFinding:
        value = get_field(answer, path)
        if value in values:
            return passed(str(value))
        found = judge_type(answer, path, str)
        return failed(f"'{path}' is {quote_redacted(value, 80)}") if found.verdict is StepVerdict.PASS else found

    def find(subject: V1PlayerSubject) -> Mapping[str, Any]:
        return subject.require_exchange(kind, kind).answer or {}

    return CheckStep(f"{kind}: {name}", expected, hint, make_message_judge(find, judge))


def _build_notice_step(kind: str, write: Callable[[Any], Mapping[str, Any]]) -> AnyStep:
    async def judge(subject: V1PlayerSubject) -> StepFinding:
        exchange = await subject.send_message(write(subject))
        if exchange.is_acknowledged:
            return passed(format_redacted(exchange.reply.body, 80) if exchange.reply.body else "no body")
        if exchange.is_breakdown:
            hint = f"The handler of {kind} breaks down: look for a field that may be null."
            return tolerate(failed(exchange.reply_text, hint))
        return tolerate(warned(exchange.reply_text))

    return CheckStep(f"{kind} is taken", "HTTP 200, whatever the body", f"Take {kind} and answer with HTTP 200.", judge)


def _make_join_judge(write: Callable[[V1PlayerSubject], Mapping[str, Any]]) -> Callable[[Any], Awaitable[StepFinding]]:
    async def judge(subject: V1PlayerSubject) -> StepFinding:
        subject.require_exchange(JOIN, JOIN)
        subject.sent = []
        exchange = await subject.send_message(write(subject), JOIN)
        return passed(f"a {JOIN}") if exchange.answer is not None else failed(exchange.reply_text)

    return tolerate_judge(judge)


async def _judge_two_matches(subject: V1PlayerSubject) -> StepFinding:
    subject.require_exchange(JOIN, JOIN)
    subject.sent = []
    messages = [subject.write_invitation(), subject.write_invitation()]
    for exchange in await asyncio.gather(*(subject.send_message(message, JOIN) for message in messages)):
        for name in ("match_id", "conversation_id"):
            if (exchange.answer or {}).get(name) != exchange.message[name]:
                return failed(f"asked in {exchange.message['match_id']}: {exchange.reply_text}")
    return passed("each answer belongs to its question")


def _write_announcement(subject: V1PlayerSubject) -> Mapping[str, Any]:
    match = {"match_id": "R9M1", "player1": subject.given_id, "player2": subject.opponent_id}
    info = {
        "total_rounds": 9,
        "total_players": 2,
        "game_type": "even_odd",
        "schedule": [{"round_id": 9, "matches": [match]}],
    }
    return subject.write_notice(v1.LeagueStartAnnouncement, league_info=info)


def _write_game_start(subject: V1PlayerSubject) -> Mapping[str, Any]:
    rules = {"single_round": True, "timeout_per_move": 30}
    state = {"game_type": "even_odd", "current_player": subject.given_id, "rules": rules}
    return subject.write_message(v1.GameStart, "referee", game_state=state)


def _write_validation(subject: V1PlayerSubject, status: str, error: str | None) -> Mapping[str, Any]:
    play = {"action": "choose", "value": "even"}
    validation = {"player_id": subject.given_id, "play": play, "status": status, "error": error}
    return subject.write_message(v1.PlayValidation, "referee", validation=validation)


def _make_result_writer(outcome: str) -> Callable[[V1PlayerSubject], Mapping[str, Any]]:
    def write(subject: V1PlayerSubject) -> Mapping[str, Any]:
        drawn: dict[str, Any] = {"random_number": 42, "number_parity": "even"}
        if outcome == "FORFEIT":
            drawn = dict.fromkeys(drawn)
        summary = {
            f"{subject.given_id}_choice": None if outcome == "FORFEIT" else "even",
            f"{subject.opponent_id}_choice": "even" if outcome == "DRAW" else "odd",
            **drawn,
            "winner_reason": "as it came",
        }
        names = (subject.given_id, subject.opponent_id) if outcome == "WIN" else (subject.opponent_id, subject.given_id)
        winner, loser = (None, None) if outcome == "DRAW" else names
        result = {"winner": winner, "loser": loser, "outcome": outcome, "game_summary": summary}
        return subject.write_message(v1.GameResult, "referee", result=result)

    return write


def _make_rankings(subject: V1PlayerSubject) -> list[dict[str, Any]]:
    return [
        {"player_id": subject.given_id, "wins": 1, "losses": 0, "rank": 1},
        {"player_id": subject.opponent_id, "wins": 0, "losses": 1, "rank": 2},
    ]


def _write_round_complete(subject: V1PlayerSubject) -> Mapping[str, Any]:
    return subject.write_notice(
        v1.RoundComplete, round_summary={"matches_played": 1, "standings": _make_rankings(subject)}
    )


def _write_league_complete(subject: V1PlayerSubject) -> Mapping[str, Any]:
    champion = {"player_id": subject.given_id, "display_name": "Champion", "wins": 1, "losses": 0, "win_rate": 1.0}
    final = {"total_rounds": 9, "total_matches": 9, "champion": champion, "rankings": _make_rankings(subject)}
    return subject.write_notice(v1.LeagueComplete, final_standings=final)
