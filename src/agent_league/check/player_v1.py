"""The steps for a player of `league.v1`: bare messages, no methods and no tokens."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent_league.check.fields import MISSING, judge_kind, judge_timestamp, judge_value, look_up, on
from agent_league.check.frames import server_steps
from agent_league.check.hostile_input import hostile_steps, survival_step
from agent_league.check.http_probe import Probe, quoted, show
from agent_league.check.player import judge_latency
from agent_league.check.registration import registers, seen, tolerate_if_registered
from agent_league.check.scripted_agents import StandInManager
from agent_league.check.steps import (
    AnyStep,
    Finding,
    Step,
    Verdict,
    failed,
    judge_like_league,
    passed,
    tolerate,
    tolerate_all,
    warned,
)
from agent_league.check.subject import Bench, Exchange, GoodCall, Options
from agent_league.clock import SystemClock
from agent_league.errors import BadAnswer
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.protocol import v1
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import STYLE_BY_NAME
from agent_league.protocol.v1.envelope import UUID, format_millis
from agent_league.protocol.v1.game import write_seconds
from agent_league.protocol.v1.ids import league_uuid, player_id_v1
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.answers import Reader

JOIN, PLAY = "GAME_INVITATION_RESPONSE", "PLAY_RESPONSE"
LIMITS = {JOIN: "handle_game_invitation", PLAY: "choose_parity"}
"""Type of the answer -> the method of `league.v2` with the same time limit."""
COPIED = ("league_id", "round_id", "match_id", "conversation_id")
CHOICES = ("even", "odd")


class V1PlayerBench(Bench):
    """A player of `league.v1` under check; writes and sends the messages of its referee and manager."""

    def __init__(self, probe: Probe, options: Options, key: SigningKey, manager: StandInManager | None) -> None:
        super().__init__(probe, options, key, manager)
        self.style = STYLE_BY_NAME["bare"]
        self._matches = 0

    def limit(self, method: str) -> float:
        """Return the limit of a call; for an invitation the one that the invitation itself states."""
        if method != LIMITS[JOIN]:
            return super().limit(method)
        limit = self.options.timeouts.v1_game_join_ack_timeout_sec
        return limit if self.options.timeout is None else min(limit, self.options.timeout)

    @property
    def given_id(self) -> str:
        return player_id_v1(self.agent_id)

    @property
    def opponent(self) -> str:
        return "player_002" if self.given_id != "player_002" else "player_001"

    @property
    def dialect(self) -> str:
        return ", ".join([PROTOCOL_V1, *dict.fromkeys(self.noted)])

    @property
    def has_answered_well(self) -> bool:
        return any(exchange.answer is not None for exchange in self.kept.values())

    @property
    def unjudged(self) -> str:
        return "" if self.has_answered_well else "it answered neither an invitation nor a question"

    def new_match(self) -> dict[str, Any]:
        self._matches += 1
        return {"match_id": f"R9M{self._matches}", "conversation_id": str(uuid.uuid4())}

    def message(self, model: type[v1.V1Message], sender: str, **fields: Any) -> dict[str, Any]:
        match = self.new_match() if "conversation_id" not in fields else {}
        return model.write(
            league_id=league_uuid(self.league_id),
            round_id=9,
            sender=sender,
            timestamp=format_millis(SystemClock().now()),
            **{**match, **fields},
        ).to_wire()

    def notice(self, model: type[v1.V1Message], **fields: Any) -> dict[str, Any]:
        """Write a notice of the manager, which belongs to no match."""
        return self.message(model, "league_manager", conversation_id=str(uuid.uuid4()), **fields)

    def invitation(self, **match: Any) -> dict[str, Any]:
        info: dict[str, Any] = {"game_type": "even_odd", "opponent_id": self.opponent, "your_role": "challenger"}
        info["timeout_seconds"] = write_seconds(self.options.timeouts.v1_game_join_ack_timeout_sec)
        return self.message(v1.GameInvitation, "referee", game_info=info, **match)

    def play_request(self, **match: Any) -> dict[str, Any]:
        state = {"turn_number": 1, "timeout_seconds": 30, "game_specific_state": {"previous_plays": []}}
        return self.message(v1.PlayRequest, "referee", game_state=state, **match)

    def good_call(self) -> GoodCall:
        return GoodCall(LIMITS[JOIN], self.invitation(), JOIN)

    def is_good(self, exchange: Exchange) -> bool:
        return exchange.answer is not None

    def find_problem(self, kind: str, path: str) -> str | None:
        """Return why our own referee refuses an answer with this field as it came; None if it accepts it."""
        exchange = self.kept[kind]
        expected = {"sender": self.given_id, **{name: exchange.message[name] for name in COPIED}}
        own: dict[str, Any] = {"status": "READY"} if kind == JOIN else {"play": {"action": "choose", "value": "even"}}
        now = format_millis(SystemClock().now())
        right: dict[str, Any] = {"protocol": PROTOCOL_V1, "message_type": kind, "timestamp": now, **expected, **own}
        *outer, name = path.split(".")
        inside = right[outer[0]] if outer else right
        value = look_up(exchange.answer or {}, path)
        inside.pop(name, None)
        if value is not MISSING:
            inside[name] = value
        reader = Reader(PROTOCOL_V1, expected=expected)
        try:
            if kind == JOIN:
                reader.join(right)
            else:
                reader.move(EvenOddWire(), right)
        except BadAnswer as error:
            return error.message
        return None

    async def say(self, message: Mapping[str, Any], wanted: str | None = None) -> Exchange:
        return await self.ask(LIMITS.get(wanted or "", "notify_match_result"), message, wanted=wanted)


def player_v1_steps() -> list[AnyStep]:
    """Build all steps in order."""
    return [
        *server_steps(),
        *_registration_steps(),
        _told_step("LEAGUE_START_ANNOUNCEMENT", _announcement),
        *_question_steps("GAME_INVITATION", JOIN, V1PlayerBench.invitation),
        _own("status", '"READY"', 'Answer an invitation with "status": "READY".', JOIN, "status", ("READY",)),
        _told_step("GAME_START", _game_start),
        *_question_steps("PLAY_REQUEST", PLAY, V1PlayerBench.play_request),
        _read_by_league(
            PLAY,
            "play.action",
            _own("play.action", '"choose"', 'Put "action": "choose" into \'play\'.', PLAY, "play.action", ("choose",)),
        ),
        _own(
            "play.value",
            '"even" or "odd", in small letters',
            'Put the choice into \'play.value\': exactly "even" or "odd", in small letters and without blanks.',
            PLAY,
            "play.value",
            CHOICES,
        ),
        _told_step("PLAY_VALIDATION (VALID)", lambda bench: _validation(bench, "VALID", None)),
        _told_step("PLAY_VALIDATION (INVALID)", lambda bench: _validation(bench, "INVALID", "Invalid choice format")),
        *(_told_step(f"GAME_RESULT ({how})", _result(how)) for how in ("WIN", "DRAW", "FORFEIT")),
        survival_step("GAME_RESULT"),
        _told_step("ROUND_COMPLETE", _round_complete),
        Step(
            "unknown fields are ignored",
            f"a {JOIN}",
            "Ignore fields that you don't know: leagues add their own.",
            _answers(lambda bench: {**bench.invitation(), "weather": {"sunny": [True, None]}}),
        ),
        Step(
            "two matches at once are kept apart",
            "each answer with match_id and conversation_id of its own question",
            "Take match_id and conversation_id from the message that you answer.",
            tolerate_all(_two_at_once),
        ),
        *hostile_steps(),
        _told_step("LEAGUE_COMPLETE", _league_complete),
    ]


def _registration_steps() -> list[AnyStep]:
    kind = "LEAGUE_REGISTER_REQUEST"

    def request(bench: V1PlayerBench) -> Mapping[str, Any]:
        return seen(bench).message

    def field(path: str, judge: Callable[[Mapping[str, Any]], Finding]) -> AnyStep:
        hint = f"Put '{path}' into {kind} as the messages of {PROTOCOL_V1} have it."
        step: AnyStep = Step(
            f"{kind}: {path}", f"as in {PROTOCOL_V1}", hint, on(request, lambda _, found: judge(found))
        )
        return step if path.endswith("contact_endpoint") else tolerate_if_registered(step)

    return [
        Step("registers with the manager", f"a {kind}", "Start the agent with the checker as its manager.", registers),
        field("protocol", lambda found: judge_value(found, "protocol", PROTOCOL_V1)),
        field("league_id", lambda found: _judge_uuid(found, "league_id")),
        field("round_id", lambda found: judge_value(found, "round_id", 0)),
        field("match_id", lambda found: judge_value(found, "match_id", "REGISTRATION")),
        field("conversation_id", lambda found: _judge_uuid(found, "conversation_id")),
        field("sender", lambda found: judge_kind(found, "sender", str)),
        field("timestamp", lambda found: judge_timestamp(found, "timestamp")),
        field("player_meta.display_name", lambda found: judge_kind(found, "player_meta.display_name", str)),
        field("player_meta.version", lambda found: judge_kind(found, "player_meta.version", str)),
        field("player_meta.game_types", lambda found: judge_kind(found, "player_meta.game_types", list)),
        field("player_meta.contact_endpoint", lambda found: judge_kind(found, "player_meta.contact_endpoint", str)),
    ]


def _judge_uuid(message: Mapping[str, Any], name: str) -> Finding:
    found = judge_kind(message, name, str)
    if found.verdict is Verdict.PASS and not UUID.fullmatch(message[name]):
        return failed(f"'{name}' is {quoted(message[name], 120)}, which is no UUID")
    return found


def _question_steps(asked: str, kind: str, write: Callable[[V1PlayerBench], Mapping[str, Any]]) -> list[AnyStep]:
    """Build the steps on a question: whether it is answered, and the answer's envelope and latency."""

    async def asks(bench: V1PlayerBench) -> Finding:
        exchange = bench.keep(kind, await bench.say(write(bench), kind))
        if exchange.answer is None:
            other = kind.replace("PLAY", "MOVE")
            moved = bench.keep(kind, await bench.say(write(bench), other)) if other != kind else exchange
            if moved.answer is None:
                bench.keep(kind, exchange)
                return failed(exchange.came)
            return warned(f"a {other}", f"Call the answer {kind}: so it is written; MOVE is only another word for it.")
        if exchange.place != "the bare body":
            bench.noted.append(f"answers in {exchange.place}")
            return warned(f"a {kind}, but in {exchange.place}", "Answer with the bare message as the body.")
        return passed(f"a {kind}")

    def answer(bench: V1PlayerBench) -> Mapping[str, Any]:
        return bench.need(kind, kind).answer or {}

    async def takes(bench: V1PlayerBench) -> Finding:
        return judge_latency(bench.need(kind, kind).reply.seconds, bench.limit(LIMITS[kind]))

    def field(name: str, judge: Callable[[Any, Mapping[str, Any]], Finding], hint: str) -> AnyStep:
        return _read_by_league(kind, name, Step(f"{kind}: {name}", f"as {PROTOCOL_V1} has it", hint, on(answer, judge)))

    def copied(name: str) -> AnyStep:
        return field(
            name,
            lambda bench, found: judge_value(found, name, bench.kept[kind].message[name]),
            f"Copy '{name}' from {asked} into {kind}.",
        )

    return [
        Step(
            f"{asked} is answered",
            f"a {kind} as the body",
            f"Answer a posted {asked} with a bare {kind}.",
            asks,
        ),
        field("protocol", lambda _, found: judge_value(found, "protocol", PROTOCOL_V1), 'Put "protocol": "league.v1".'),
        *(copied(name) for name in COPIED),
        field(
            "sender",
            lambda bench, found: (
                judge_value(found, "sender", bench.given_id) if bench.registration else judge_kind(found, "sender", str)
            ),
            "Put your own id into 'sender', such as player_001.",
        ),
        field(
            "timestamp",
            lambda _, found: judge_timestamp(found, "timestamp"),
            "Write 'timestamp' in UTC: 2025-12-13T22:05:01.000Z.",
        ),
        Step(f"{kind}: in time", "less than half of the limit", f"Answer {asked} faster.", takes),
    ]


def _read_by_league(kind: str, path: str, step: AnyStep) -> AnyStep:
    """Make a step on a field of an answer fail only if a referee of ours refuses such an answer."""
    return judge_like_league(step, lambda bench: bench.find_problem(kind, path))


def _own(name: str, expected: str, hint: str, kind: str, path: str, values: tuple[str, ...]) -> AnyStep:
    """Build the step on a field that must have one of these values."""

    def judge(_: Any, answer: Mapping[str, Any]) -> Finding:
        value = look_up(answer, path)
        if value in values:
            return passed(str(value))
        found = judge_kind(answer, path, str)
        return failed(f"'{path}' is {quoted(value, 80)}") if found.verdict is Verdict.PASS else found

    def find(bench: V1PlayerBench) -> Mapping[str, Any]:
        return bench.need(kind, kind).answer or {}

    return Step(f"{kind}: {name}", expected, hint, on(find, judge))


def _told_step(kind: str, write: Callable[[Any], Mapping[str, Any]]) -> AnyStep:
    async def judge(bench: V1PlayerBench) -> Finding:
        exchange = await bench.say(write(bench))
        if exchange.acknowledged:
            return passed(show(exchange.reply.body, 80) if exchange.reply.body else "no body")
        if exchange.broke_down:
            hint = f"The handler of {kind} breaks down: look for a field that may be null."
            return tolerate(failed(exchange.came, hint))
        return tolerate(warned(exchange.came))

    return Step(f"{kind} is taken", "HTTP 200, whatever the body", f"Take {kind} and answer with HTTP 200.", judge)


def _answers(write: Callable[[V1PlayerBench], Mapping[str, Any]]) -> Callable[[Any], Awaitable[Finding]]:
    async def judge(bench: V1PlayerBench) -> Finding:
        bench.need(JOIN, JOIN)
        bench.sent = []
        exchange = await bench.say(write(bench), JOIN)
        return passed(f"a {JOIN}") if exchange.answer is not None else failed(exchange.came)

    return tolerate_all(judge)


async def _two_at_once(bench: V1PlayerBench) -> Finding:
    bench.need(JOIN, JOIN)
    bench.sent = []
    messages = [bench.invitation(), bench.invitation()]
    for exchange in await asyncio.gather(*(bench.say(message, JOIN) for message in messages)):
        for name in ("match_id", "conversation_id"):
            if (exchange.answer or {}).get(name) != exchange.message[name]:
                return failed(f"asked in {exchange.message['match_id']}: {exchange.came}")
    return passed("each answer belongs to its question")


def _announcement(bench: V1PlayerBench) -> Mapping[str, Any]:
    match = {"match_id": "R9M1", "player1": bench.given_id, "player2": bench.opponent}
    info = {
        "total_rounds": 9,
        "total_players": 2,
        "game_type": "even_odd",
        "schedule": [{"round_id": 9, "matches": [match]}],
    }
    return bench.notice(v1.LeagueStartAnnouncement, league_info=info)


def _game_start(bench: V1PlayerBench) -> Mapping[str, Any]:
    rules = {"single_round": True, "timeout_per_move": 30}
    state = {"game_type": "even_odd", "current_player": bench.given_id, "rules": rules}
    return bench.message(v1.GameStart, "referee", game_state=state)


def _validation(bench: V1PlayerBench, status: str, error: str | None) -> Mapping[str, Any]:
    play = {"action": "choose", "value": "even"}
    validation = {"player_id": bench.given_id, "play": play, "status": status, "error": error}
    return bench.message(v1.PlayValidation, "referee", validation=validation)


def _result(outcome: str) -> Callable[[V1PlayerBench], Mapping[str, Any]]:
    def write(bench: V1PlayerBench) -> Mapping[str, Any]:
        drawn: dict[str, Any] = {"random_number": 42, "number_parity": "even"}
        if outcome == "FORFEIT":
            drawn = dict.fromkeys(drawn)
        summary = {
            f"{bench.given_id}_choice": None if outcome == "FORFEIT" else "even",
            f"{bench.opponent}_choice": "even" if outcome == "DRAW" else "odd",
            **drawn,
            "winner_reason": "as it came",
        }
        names = (bench.given_id, bench.opponent) if outcome == "WIN" else (bench.opponent, bench.given_id)
        winner, loser = (None, None) if outcome == "DRAW" else names
        result = {"winner": winner, "loser": loser, "outcome": outcome, "game_summary": summary}
        return bench.message(v1.GameResult, "referee", result=result)

    return write


def _rankings(bench: V1PlayerBench) -> list[dict[str, Any]]:
    return [
        {"player_id": bench.given_id, "wins": 1, "losses": 0, "rank": 1},
        {"player_id": bench.opponent, "wins": 0, "losses": 1, "rank": 2},
    ]


def _round_complete(bench: V1PlayerBench) -> Mapping[str, Any]:
    return bench.notice(v1.RoundComplete, round_summary={"matches_played": 1, "standings": _rankings(bench)})


def _league_complete(bench: V1PlayerBench) -> Mapping[str, Any]:
    champion = {"player_id": bench.given_id, "display_name": "Champion", "wins": 1, "losses": 0, "win_rate": 1.0}
    final = {"total_rounds": 9, "total_matches": 9, "champion": champion, "rankings": _rankings(bench)}
    return bench.notice(v1.LeagueComplete, final_standings=final)
