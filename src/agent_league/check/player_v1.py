"""The steps for a player of `league.v1`: bare messages, no methods and no tokens."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from agent_league.check.fields import MessageRows, get_field, judge_timestamp, judge_type, judge_value
from agent_league.check.http_probe import format_redacted, quote_redacted
from agent_league.check.notices import RESULT_METHOD
from agent_league.check.player import (
    QUICK_SERVER_STEPS,
    UNKNOWN_FIELDS,
    build_latency_step,
    build_lenience_step,
    find_answer,
    find_field_problem,
    judge_copied,
    judge_two_matches,
)
from agent_league.check.player_subject import CHOICES, CHOOSE, JOIN, V1PlayerSubject
from agent_league.check.registration import build_v1_registration_steps
from agent_league.check.scripted_agents import EVEN_ODD
from agent_league.check.steps import CheckStep, Severity, StepFinding, StepVerdict, failed, passed, tolerate, warned
from agent_league.check.transport_steps import HOSTILE_STEPS, SERVER_STEPS, build_survival_step
from agent_league.protocol import v1
from agent_league.protocol.version import PROTOCOL_V1

V1Step = CheckStep[V1PlayerSubject]


def build_player_v1_steps() -> list[V1Step]:
    """Build all steps for a player of `league.v1` in order."""
    return [
        *SERVER_STEPS,
        *build_v1_registration_steps(),
        _build_notice_step("LEAGUE_START_ANNOUNCEMENT", _write_league_notice("LEAGUE_START_ANNOUNCEMENT")),
        *_build_question_steps(JOIN, "GAME_INVITATION"),
        *_build_value_rows(JOIN, {"status": ('"READY"', 'Answer an invitation with "status": "READY".', ("READY",))}),
        _build_notice_step("GAME_START", _write_game_start),
        *_build_question_steps(CHOOSE, "PLAY_REQUEST"),
        *_build_value_rows(CHOOSE, PLAY_VALUES),
        *(
            _build_notice_step(f"PLAY_VALIDATION ({status})", partial(_write_validation, status=status))
            for status in ("VALID", "INVALID")
        ),
        *(
            _build_notice_step(f"GAME_RESULT ({outcome})", partial(_write_result, outcome=outcome))
            for outcome in ("WIN", "DRAW", "FORFEIT")
        ),
        build_survival_step("GAME_RESULT"),
        _build_notice_step("ROUND_COMPLETE", _write_league_notice("notify_round_completed")),
        build_lenience_step(
            "unknown fields are ignored",
            "GAME_INVITATION_RESPONSE",
            "Ignore fields that you don't know: leagues add their own.",
            lambda invitation: {**invitation, "weather": UNKNOWN_FIELDS["weather"]},
        ),
        CheckStep(
            "two matches at once are kept apart",
            "each answer with match_id and conversation_id of its own question",
            "Take match_id and conversation_id from the message that you answer.",
            partial(judge_two_matches, methods=(JOIN,), excuses_known=False),
            Severity.TOLERATED,
        ),
        *HOSTILE_STEPS,
        _build_notice_step("LEAGUE_COMPLETE", _write_league_notice("notify_league_completed")),
    ]


def build_quick_player_v1_steps() -> list[V1Step]:
    """Build the steps that tell within seconds whether a player can play."""
    return [
        *SERVER_STEPS[:QUICK_SERVER_STEPS],
        *_build_question_steps(JOIN, "GAME_INVITATION"),
        *_build_question_steps(CHOOSE, "PLAY_REQUEST"),
        *_build_value_rows(CHOOSE, PLAY_VALUES),
    ]


def _build_question_steps(method: str, asked: str) -> list[V1Step]:
    """Build the steps on a question: whether it is answered, and the answer's envelope and latency."""
    kind = V1PlayerSubject.reply_types[method]
    rows = MessageRows[V1PlayerSubject](kind, find_answer(method), find_problem=find_field_problem(method))
    expected = f"as {PROTOCOL_V1} has it"
    return [
        CheckStep(
            f"{asked} is answered",
            f"a {kind} as the body",
            f"Answer a posted {asked} with a bare {kind}.",
            partial(_judge_question, method=method, kind=kind),
        ),
        rows.value_row("protocol", expected, 'Put "protocol": "league.v1".', lambda _: PROTOCOL_V1),
        *(
            rows.row(name, expected, f"Copy '{name}' from {asked} into {kind}.", judge_copied(method, name))
            for name in V1PlayerSubject.copied_fields
        ),
        rows.row("sender", expected, "Put your own id into 'sender', such as player_001.", _judge_sender),
        rows.row(
            "timestamp",
            expected,
            "Write 'timestamp' in UTC: 2025-12-13T22:05:01.000Z.",
            lambda _, found: judge_timestamp(found, "timestamp"),
        ),
        build_latency_step(method, kind, asked),
    ]


async def _judge_question(subject: V1PlayerSubject, method: str, kind: str) -> StepFinding:
    """Ask; an answer may also be called MOVE instead of PLAY."""
    exchange = subject.store_exchange(method, await subject.send_question(method, subject.new_match()))
    other = kind.replace("PLAY", "MOVE")
    if exchange.answer is None and other != kind:
        moved = await subject.ask(method, subject.write_call(method, subject.new_match()), wanted=other)
        if moved.answer is not None:
            subject.store_exchange(method, moved)
            return warned(f"a {other}", f"Call the answer {kind}: so it is written; MOVE is only another word for it.")
    if exchange.answer is None:
        return failed(exchange.reply_text)
    if exchange.place != "the bare body":
        subject.deviations.append(f"answers in {exchange.place}")
        return warned(f"a {kind}, but in {exchange.place}", "Answer with the bare message as the body.")
    return passed(f"a {kind}")


def _judge_sender(subject: V1PlayerSubject, answer: Mapping[str, Any]) -> StepFinding:
    if subject.is_registered:
        return judge_value(answer, "sender", subject.given_id)
    return judge_type(answer, "sender", str)


PLAY_VALUES = {
    "play.action": ('"choose"', 'Put "action": "choose" into \'play\'.', ("choose",)),
    "play.value": (
        '"even" or "odd", in small letters',
        'Put the choice into \'play.value\': exactly "even" or "odd", in small letters and without blanks.',
        CHOICES,
    ),
}


def _build_value_rows(method: str, values: Mapping[str, tuple[str, str, tuple[str, ...]]]) -> list[V1Step]:
    """Build the steps on fields of an answer that must have one of these values; a referee of ours needs no action."""
    rows = MessageRows[V1PlayerSubject](V1PlayerSubject.reply_types[method], find_answer(method))
    weighed = {"play.action": replace(rows, find_problem=find_field_problem(method))}
    return [
        weighed.get(path, rows).row(path, expected, hint, partial(_judge_one_of, path=path, allowed=allowed))
        for path, (expected, hint, allowed) in values.items()
    ]


def _judge_one_of(_: Any, answer: Mapping[str, Any], path: str, allowed: tuple[str, ...]) -> StepFinding:
    value = get_field(answer, path)
    if value in allowed:
        return passed(str(value))
    found = judge_type(answer, path, str)
    return failed(f"'{path}' is {quote_redacted(value, 80)}") if found.verdict is StepVerdict.PASS else found


def _build_notice_step(kind: str, write: Callable[[V1PlayerSubject], Mapping[str, Any]]) -> V1Step:
    async def judge(subject: V1PlayerSubject) -> StepFinding:
        exchange = await subject.ask(RESULT_METHOD, write(subject))
        if exchange.is_acknowledged:
            return passed(format_redacted(exchange.reply.body, 80) if exchange.reply.body else "no body")
        if exchange.is_breakdown:
            hint = f"The handler of {kind} breaks down: look for a field that may be null."
            return tolerate(failed(exchange.reply_text, hint))
        return tolerate(warned(exchange.reply_text))

    return CheckStep(f"{kind} is taken", "HTTP 200, whatever the body", f"Take {kind} and answer with HTTP 200.", judge)


def _write_league_notice(method: str) -> Callable[[V1PlayerSubject], Mapping[str, Any]]:
    return lambda subject: subject.write_notice(method)


def _write_game_start(subject: V1PlayerSubject) -> Mapping[str, Any]:
    rules = {"single_round": True, "timeout_per_move": 30}
    state = {"game_type": EVEN_ODD, "current_player": subject.given_id, "rules": rules}
    return subject.write_message(v1.GameStart, subject.new_match(), game_state=state)


def _write_validation(subject: V1PlayerSubject, status: str) -> Mapping[str, Any]:
    error = None if status == "VALID" else "Invalid choice format"
    play = {"action": "choose", "value": "even"}
    validation = {"player_id": subject.given_id, "play": play, "status": status, "error": error}
    return subject.write_message(v1.PlayValidation, subject.new_match(), validation=validation)


def _write_result(subject: V1PlayerSubject, outcome: str) -> Mapping[str, Any]:
    is_forfeit = outcome == "FORFEIT"
    player, opponent = subject.given_id, subject.match_dialect.name_player(subject.opponent_id)
    summary = {
        f"{player}_choice": None if is_forfeit else "even",
        f"{opponent}_choice": "even" if outcome == "DRAW" else "odd",
        "random_number": None if is_forfeit else 42,
        "number_parity": None if is_forfeit else "even",
        "winner_reason": "as it came",
    }
    names = {"WIN": (player, opponent), "FORFEIT": (opponent, player)}
    winner, loser = names.get(outcome, (None, None))
    result = {"winner": winner, "loser": loser, "outcome": outcome, "game_summary": summary}
    return subject.write_message(v1.GameResult, subject.new_match(), result=result)
