"""The steps for a player: the checker plays its referee and its manager."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from agent_league.check.fields import (
    FIELD_HINTS,
    build_envelope_steps,
    get_field,
    judge_timestamp,
    judge_value,
    make_field_names_hint,
    make_message_judge,
)
from agent_league.check.frames import build_json_rpc_steps, build_server_steps, make_no_json_hint
from agent_league.check.hostile_input import build_hostile_steps, build_survival_step
from agent_league.check.http_probe import format_redacted, quote_redacted
from agent_league.check.notices import (
    ANY_RESULT,
    RESULT_METHOD,
    UNTRUSTED_CODES,
    add_handler_hint,
    build_notice_step,
    judge_notice,
    make_refusal_hint,
    write_league_completed,
    write_notice,
    write_round_completed,
    write_standings_update,
)
from agent_league.check.player_subject import JOIN, REPLY_TYPES, PlayerSubject, TrialMatch, list_named_games
from agent_league.check.questions import CHOICES, CHOOSE, EVEN_ODD, MOVE, PARITY_QUESTION, CheckQuestion
from agent_league.check.registration import build_registration_steps
from agent_league.check.steps import (
    AnyStep,
    CheckStep,
    NoReply,
    SkipStep,
    StepFinding,
    StepVerdict,
    failed,
    judge_like_league,
    passed,
    tolerate,
    tolerate_judge,
    warned,
)
from agent_league.check.subject import Exchange
from agent_league.games.base import is_legal_move
from agent_league.protocol import v2
from agent_league.protocol.envelope import Sender
from agent_league.referee.answers import unwrap_move

ANNOUNCED_MATCHES = 100
"""Matches of the round; more than a check needs."""
MOVE_SCHEMA: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
REPEATS = 8
"""How often a question is repeated: often enough that a random choice would differ at least once."""
UNWRAP_HINT = 'Put the move itself into "move_data", without an object around it: not every league unwraps it.'
NO_MAKE_MOVE = "the player doesn't serve `make_move`, which only games other than Even/Odd need"
STRANGE_IDS = ("conv ü/ö?&=% 你好", "CONV-" + "x" * 200, "0", "conv-r1m1-001 ")
"""Unusual conversation ids that are valid strings."""


def build_player_steps(question: CheckQuestion = PARITY_QUESTION) -> list[AnyStep]:
    """Build all steps in order; LEAGUE_COMPLETED comes last, because a player may exit then."""
    method = question.method
    return [
        *build_server_steps(),
        *build_registration_steps("player"),
        *_build_round_steps(),
        *_build_question_steps(JOIN, "handle_game_invitation", PlayerSubject.write_full_invitation),
        *_build_join_steps(),
        *_build_question_steps(method, method, PlayerSubject.write_full_question),
        *(_build_choice_steps() if method == CHOOSE else _build_move_steps()),
        *build_json_rpc_steps(),
        *_build_conversation_steps(),
        *_build_lenience_steps(),
        *_build_result_steps(),
        *_build_concurrency_steps(REPLY_TYPES[method]),
        *_build_token_steps(),
        *build_hostile_steps(),
        *_build_end_steps(),
    ]


def _build_question_steps(
    method: str, step: str, write: Callable[[PlayerSubject, TrialMatch], Mapping[str, Any]]
) -> list[AnyStep]:
    """Build the steps on a question: whether it is answered, and the answer's frame, envelope, ids and latency."""
    kind = REPLY_TYPES[method]

    def reply(subject: PlayerSubject) -> Mapping[str, Any]:
        return _require_answer(subject, method).answer or {}

    async def asks(subject: PlayerSubject) -> StepFinding:
        if method == MOVE and subject.question.unplayable_reason:
            raise SkipStep(subject.question.unplayable_reason)
        match = subject.new_match()
        if method != JOIN and JOIN in subject.call_forms:
            await subject.send_question(JOIN, subject.write_invitation(match), match)
            subject.sent = subject.sent[:0]
        with add_handler_hint(method):
            exchange = subject.store_exchange(
                method,
                await subject.ask_in_any_form(method, write(subject, match), kind, subject.sign_match_token(match)),
            )
        if (
            method == CHOOSE
            and exchange.answer is None
            and _list_games(subject)
            and EVEN_ODD not in _list_games(subject)
        ):
            raise SkipStep("the player doesn't name even_odd, so that it is asked with `make_move`")
        if method == JOIN:
            _learn_agent_id(subject, exchange)
        return _judge_answered(subject, exchange, kind)

    async def stands(subject: PlayerSubject) -> StepFinding:
        place = _require_answer(subject, method).place
        right = place in subject.call_forms[method].answer_places
        return passed(place) if right else tolerate(warned(f"it is in {place}"))

    async def names(subject: PlayerSubject) -> StepFinding:
        noted = _require_answer(subject, method).deviations
        if problem := subject.find_problem(method):
            return failed(f"a league refuses it: {problem}")
        return tolerate(warned(", ".join(noted), make_field_names_hint(noted))) if noted else passed()

    async def takes(subject: PlayerSubject) -> StepFinding:
        return judge_latency(_require_answer(subject, method).reply.seconds, subject.get_limit(method))

    def field(name: str, expected: str, judge: Callable[[Any, Mapping[str, Any]], StepFinding]) -> AnyStep:
        return _judge_like_referee(
            method, CheckStep(f"{kind}: {name}", expected, FIELD_HINTS[name], make_message_judge(reply, judge))
        )

    envelope = build_envelope_steps(
        kind, reply, "player", lambda subject: subject.agent_id if subject.registration else None
    )
    return [
        CheckStep(
            f"{step} is answered",
            f"a {kind}",
            f"Serve the method `{method}` and answer it with a {kind}.",
            asks,
        ),
        CheckStep(
            f"{kind}: it is the result",
            f"the {kind} itself as `result` of the JSON-RPC reply",
            f'Return {{"jsonrpc": "2.0", "result": {{"message_type": "{kind}", ...}}, "id": ...}}, without anything '
            "around it.",
            stands,
        ),
        CheckStep(
            f"{kind}: the names of its fields", "the protocol's names", f"Use the protocol's names in {kind}.", names
        ),
        *(_judge_like_referee(method, one) for one in envelope),
        *(
            field(name, "the one of the question", _make_copy_judge(method, name))
            for name in ("conversation_id", "match_id")
        ),
        field("player_id", "the id that the player was given", _judge_player_id),
        field("auth_token", "the token from the player's own registration", _judge_token),
        CheckStep(
            f"{kind}: in time",
            "less than half of the limit",
            f"Answer {method} faster: over the limit the match is lost. Decide before you are asked, or cut long "
            "thinking off.",
            takes,
        ),
    ]


def _judge_like_referee(method: str, step: AnyStep) -> AnyStep:
    """Make a step on a field of an answer fail only if a referee of ours refuses such an answer."""
    name = step.name.partition(": ")[2].partition(" ")[0]
    return judge_like_league(step, lambda subject: subject.find_problem(method, name))


def _require_answer(subject: PlayerSubject, method: str) -> Exchange:
    return subject.require_exchange(method, REPLY_TYPES[method])


def _learn_agent_id(subject: PlayerSubject, exchange: Exchange) -> None:
    """Take over the id in the answer of a player that has not registered with the checker."""
    if subject.registration or exchange.answer is None:
        return
    sender = Sender.parse(str(exchange.answer.get("sender")))
    claimed = exchange.answer.get("player_id") or (sender.agent_id if sender else None)
    subject.agent_id = claimed if isinstance(claimed, str) else subject.agent_id


def _judge_answered(subject: PlayerSubject, exchange: Exchange, kind: str) -> StepFinding:
    method = exchange.method
    if exchange.answer is not None:
        style = subject.call_forms[method]
        if style.name == "seeds":
            return passed(f"a {kind}")
        said = style.description.replace("`", "")
        return warned(
            f"a {kind}, but only when asked in another form: {said}",
            f"Serve the method `{method}` with the message as `params`; not every league knows this form ({said}).",
        )
    if exchange.league_error is not None:
        return failed(
            exchange.reply_text, make_refusal_hint(subject, exchange), ends=exchange.league_code in UNTRUSTED_CODES
        )
    if exchange.is_unknown_method:
        return failed(
            exchange.reply_text,
            f"{exchange.agent_complaint}The agent doesn't know the method `{method}`, nor another usual name of "
            "it: name it "
            f"exactly `{method}`.",
        )
    return failed(exchange.reply_text, make_no_json_hint(exchange) or exchange.agent_complaint.rstrip())


def judge_latency(seconds: float, limit: float) -> StepFinding:
    """Judge the seconds an answer took against its limit; more than half is a warning."""
    said = f"{seconds:.2f} s of {limit:g} s"
    if seconds > limit:
        return failed(f"too slow: {said}")
    return warned(f"slow: {said}") if seconds > limit / 2 else passed(said)


def _make_copy_judge(method: str, name: str) -> Callable[[Any, Mapping[str, Any]], StepFinding]:
    return lambda subject, answer: judge_value(answer, name, subject.exchanges[method].message[name])


def _judge_player_id(subject: PlayerSubject, answer: Mapping[str, Any]) -> StepFinding:
    found = judge_value(answer, "player_id", subject.agent_id)
    own = subject.own_name is not None and answer.get("player_id") == subject.own_name
    return warned(found.came) if own and found.verdict is StepVerdict.FAIL else found


def _judge_token(subject: PlayerSubject, answer: Mapping[str, Any]) -> StepFinding:
    found = answer.get("auth_token")
    if subject.token is not None:
        judged = judge_value(answer, "auth_token", subject.token, StepVerdict.WARNING)
        if judged.verdict is StepVerdict.PASS or not isinstance(found, str):
            return judged
        return replace(judged, came=f"'auth_token' is {_describe_token(subject, found)}")
    if isinstance(found, str) and found:
        return passed("a token; whether it is the right one can't be told without a registration")
    return warned("'auth_token' is missing")


def _describe_token(subject: PlayerSubject, token: str) -> str:
    """Describe the token that came in place of the player's own."""
    if not token.strip():
        return "empty"
    if token in subject.match_tokens:
        return "the referee's: the one that came with the question"
    owner = subject.manager.token_owners.get(token) if subject.manager else None
    if owner == subject.agent_id:
        return "one of an earlier registration of its own"
    if owner or (token.startswith("tok-") and not token.startswith(f"tok-{subject.agent_id.lower()}-")):
        return "another agent's"
    return "one that nobody was given"


def _build_join_steps() -> list[AnyStep]:
    kind = REPLY_TYPES[JOIN]

    def reply(subject: PlayerSubject) -> Mapping[str, Any]:
        return _require_answer(subject, JOIN).answer or {}

    def accepts(_: PlayerSubject, answer: Mapping[str, Any]) -> StepFinding:
        if not isinstance(answer.get("accept"), bool):
            raise SkipStep("'accept' is no boolean")
        return passed("true") if answer["accept"] else failed("'accept' is false")

    def is_boolean(_: PlayerSubject, answer: Mapping[str, Any]) -> StepFinding:
        found = get_field(answer, "accept")
        return passed(str(found).lower()) if isinstance(found, bool) else judge_value(answer, "accept", True)

    return [
        CheckStep(
            f"{kind}: accept is a boolean",
            "true or false",
            'Put "accept": true into GAME_JOIN_ACK, as a JSON boolean: not "true", "yes" or 1.',
            make_message_judge(reply, is_boolean),
        ),
        CheckStep(
            f"{kind}: the invitation is accepted",
            "true",
            "A player that declines loses the match technically: accept every invitation to a game you registered for.",
            make_message_judge(reply, accepts),
        ),
        _judge_like_referee(
            JOIN,
            CheckStep(
                f"{kind}: arrival_timestamp",
                "UTC, such as 2025-01-15T10:30:00Z",
                'Put "arrival_timestamp" into GAME_JOIN_ACK: the time at which the invitation arrived, in UTC.',
                make_message_judge(
                    reply, lambda _, answer: judge_timestamp(answer, "arrival_timestamp", StepVerdict.WARNING)
                ),
            ),
        ),
    ]


def _build_choice_steps() -> list[AnyStep]:
    kind = REPLY_TYPES[CHOOSE]

    def reply(subject: PlayerSubject) -> Mapping[str, Any]:
        return _require_answer(subject, CHOOSE).answer or {}

    return [
        CheckStep(
            f"{kind}: parity_choice",
            '"even" or "odd", in small letters',
            'Put "parity_choice" into the answer: exactly "even" or "odd", in small letters and without blanks. '
            "Anything else is refused with E004, and the match is lost after three tries.",
            make_message_judge(reply, lambda _, answer: _judge_choice(answer)),
        ),
        _build_repeat_step("parity_choice"),
        CheckStep(
            "make_move is answered with a legal move",
            'a GAME_MOVE_RESPONSE with one of valid_options in "move_data"',
            'Answer `make_move` with "move_data": one of "valid_options" of "move_request", unchanged.',
            _judge_make_move,
        ),
    ]


def _build_move_steps() -> list[AnyStep]:
    kind = REPLY_TYPES[MOVE]

    def reply(subject: PlayerSubject) -> Mapping[str, Any]:
        return _require_answer(subject, MOVE).answer or {}

    return [
        CheckStep(
            f"{kind}: move_data",
            "one of valid_options, or what move_schema allows",
            'Answer `make_move` with "move_data": one of "valid_options" of "move_request", unchanged. Anything else '
            "is refused, and the match is lost after three tries.",
            make_message_judge(reply, _judge_move),
        ),
        _build_repeat_step("move_data"),
    ]


def _judge_move(subject: PlayerSubject, answer: Mapping[str, Any]) -> StepFinding:
    if "move_data" not in answer:
        return failed("'move_data' is missing")
    move = answer["move_data"]
    if is_legal_move(subject.question.legal_moves, move):
        return passed(format_redacted(move, 40))
    if unwrap_move(move, lambda one: is_legal_move(subject.question.legal_moves, one))[1]:
        return warned(f"'move_data' is {quote_redacted(move, 80)}", UNWRAP_HINT)
    return failed(
        f"'move_data' is {quote_redacted(move, 80)}, asked for {format_redacted(subject.question.move_request, 200)}"
    )


def _build_repeat_step(name: str) -> AnyStep:
    return CheckStep(
        "the same question gets the same answer",
        f"the same {name} when the question is repeated",
        "A referee may ask again when an answer was lost: remember your choice by match_id (and step) and give the "
        "same one.",
        lambda subject: _judge_repeated_question(subject, name),
    )


def _judge_choice(answer: Mapping[str, Any]) -> StepFinding:
    found = judge_value(answer, "parity_choice", "even")
    choice = answer.get("parity_choice")
    if choice in CHOICES:
        return passed(str(choice))
    if isinstance(choice, str) and choice.strip().lower() in CHOICES:
        return failed(
            f"'parity_choice' is {quote_redacted(choice)}",
            f"Write 'parity_choice' in small letters and without blanks: \"{choice.strip().lower()}\". No league "
            "tolerates another case: it is refused with E004.",
        )
    return found


async def _judge_repeated_question(subject: PlayerSubject, name: str) -> StepFinding:
    method = subject.question.method
    first = _require_answer(subject, method)
    match = TrialMatch(str(first.message["match_id"]), str(first.message["conversation_id"]))
    before = (first.answer or {}).get(name)
    for _ in range(REPEATS):
        again = await subject.send_question(method, first.message, match)
        if again.answer is None:
            return failed(again.reply_text, "A repeated question must be answered like the first one.")
        now = again.answer.get(name)
        if now != before:
            return warned(f"first {format_redacted(before, 40)}, then {format_redacted(now, 40)}")
    return passed(f"{format_redacted(before, 40)}, each of {REPEATS} more times")


async def _judge_make_move(subject: PlayerSubject) -> StepFinding:
    match = subject.new_match()
    await subject.send_question(JOIN, subject.write_invitation(match), match)
    try:
        exchange = await subject.ask_in_any_form(
            MOVE, subject.write_move_call(match), REPLY_TYPES[MOVE], subject.sign_match_token(match)
        )
    except NoReply:
        if _has_other_games(subject):
            raise
        raise SkipStep(NO_MAKE_MOVE) from None
    is_needed = _has_other_games(subject)
    if exchange.answer is None and not is_needed:
        raise SkipStep(NO_MAKE_MOVE)
    if exchange.answer is None:
        return failed(exchange.reply_text, exchange.agent_complaint.rstrip())
    said = exchange.answer.get("move_data")
    move, unwrapped = unwrap_move(said, lambda one: one in CHOICES)
    if unwrapped:
        return warned(f"'move_data' is {format_redacted(said, 80)}", UNWRAP_HINT)
    if move not in CHOICES:
        came = f"'move_data' is {format_redacted(move, 80)}"
        return failed(came) if is_needed else warned(f"{came}; {NO_MAKE_MOVE}")
    return await _judge_schema_move(subject) if is_needed else passed(format_redacted(move, 40))


async def _judge_schema_move(subject: PlayerSubject) -> StepFinding:
    """Judge the move of a player of other games when `move_schema` stands in place of listed moves."""
    match = subject.new_match()
    await subject.send_question(JOIN, subject.write_invitation(match), match)
    exchange = await subject.send_question(MOVE, subject.write_move_call(match, move_schema=MOVE_SCHEMA), match)
    move = (exchange.answer or {}).get("move_data")
    if type(move) is int and MOVE_SCHEMA["minimum"] <= move <= MOVE_SCHEMA["maximum"]:
        return passed("listed moves, and those of a schema")
    came = exchange.reply_text if exchange.answer is None else f"'move_data' is {format_redacted(move, 80)}"
    return warned(
        f"{came}, where the moves are told by a schema",
        "Where the moves are too many to be listed, `move_request` has a JSON Schema, `move_schema`, in place of "
        "`valid_options`: answer with a number from its `minimum` to its `maximum`.",
    )


def _has_other_games(subject: PlayerSubject) -> bool:
    """Whether the player names other games than Even/Odd."""
    return any(game != EVEN_ODD for game in _list_games(subject))


def _list_games(subject: PlayerSubject) -> list[str]:
    """List the games that the player named when it registered; empty if it has not."""
    return list_named_games(subject.registration)


def _build_conversation_steps() -> list[AnyStep]:
    def echo(title: str, ids: tuple[str, ...]) -> AnyStep:
        async def judge(subject: PlayerSubject) -> StepFinding:
            _require_answer(subject, JOIN)
            subject.sent = []
            for conversation_id in ids:
                match = subject.new_match(conversation_id)
                exchange = await subject.send_question(JOIN, subject.write_invitation(match), match)
                asked = f"asked with {quote_redacted(conversation_id, 120)}"
                if exchange.answer is None:
                    return failed(f"{asked}: {exchange.reply_text}")
                found = judge_value(exchange.answer, "conversation_id", conversation_id)
                if found.verdict is not StepVerdict.PASS:
                    return tolerate(failed(f"{asked}: {found.came}"))
            return passed(f"all {len(ids)}")

        is_league_like = ids is not STRANGE_IDS
        judged = judge if is_league_like else tolerate_judge(judge)
        return CheckStep(title, "each comes back as it was sent", FIELD_HINTS["conversation_id"], judged)

    return [
        echo("three conversation ids come back, each with its answer", ("conv-a-001", "conv-b-002", "conv-c-003")),
        echo("unusual conversation ids come back", STRANGE_IDS),
    ]


def _build_lenience_steps() -> list[AnyStep]:
    return [
        CheckStep(
            "unknown fields are ignored",
            "a GAME_JOIN_ACK",
            "Ignore fields that you don't know: leagues add their own, and later versions of the protocol will.",
            _make_join_judge(
                lambda subject, match: {
                    **subject.write_invitation(match),
                    "weather": {"sunny": [True, None]},
                    "x-9": 1.5,
                }
            ),
        ),
        CheckStep(
            "the shortest invitation is enough",
            "a GAME_JOIN_ACK",
            "Only the envelope and match_id are sure to come: don't demand game_type, role_in_match or opponent_id.",
            _make_join_judge(_write_short_invitation),
        ),
        CheckStep(
            "a timestamp with fractions and +00:00 is accepted",
            "a GAME_JOIN_ACK",
            "Read timestamps as ISO-8601 in UTC: Z and +00:00 mean the same, and seconds may have fractions.",
            _make_join_judge(_write_fraction_timestamp),
        ),
    ]


def _write_short_invitation(subject: PlayerSubject, match: TrialMatch) -> Mapping[str, Any]:
    extras = ("game_type", "role_in_match", "opponent_id")
    return {name: value for name, value in subject.write_invitation(match).items() if name not in extras}


def _write_fraction_timestamp(subject: PlayerSubject, match: TrialMatch) -> Mapping[str, Any]:
    invitation = subject.write_invitation(match)
    return {**invitation, "timestamp": invitation["timestamp"].replace("Z", ".250+00:00")}


def _make_join_judge(
    write: Callable[[PlayerSubject, TrialMatch], Mapping[str, Any]],
) -> Callable[[Any], Awaitable[StepFinding]]:
    """Make a judge on an unusual invitation; a refusal is only a warning, because our league never sends such."""

    async def judge(subject: PlayerSubject) -> StepFinding:
        _require_answer(subject, JOIN)
        subject.sent = []
        match = subject.new_match()
        exchange = await subject.send_question(JOIN, write(subject, match), match)
        return passed("a GAME_JOIN_ACK") if exchange.answer is not None else failed(exchange.reply_text)

    return tolerate_judge(judge)


def _build_round_steps() -> list[AnyStep]:
    return [build_notice_step("ROUND_ANNOUNCEMENT", "notify_round", _write_announcement)]


def _write_announcement(subject: PlayerSubject) -> Mapping[str, Any]:
    matches = [
        {
            "match_id": f"R9M{number}",
            "game_type": subject.question.game_type,
            "player_A_id": subject.agent_id,
            "player_B_id": subject.opponent_id,
            "referee_endpoint": subject.referee_endpoint,
        }
        for number in range(1, ANNOUNCED_MATCHES + 1)
    ]
    return write_notice(subject, v2.RoundAnnouncement, "conv-round-9-announce", round_id=9, matches=matches)


def _write_standings(subject: PlayerSubject) -> Mapping[str, Any]:
    return write_standings_update(subject, subject.agent_id, subject.opponent_id)


def _build_result_steps() -> list[AnyStep]:
    return [
        _build_game_error_step(),
        build_survival_step("GAME_ERROR"),
        *(_build_game_over_step(title) for title in ("a win", "a loss", "a draw", "a technical loss")),
        build_survival_step("GAME_OVER"),
        build_notice_step("LEAGUE_STANDINGS_UPDATE", "update_standings", _write_standings),
        build_notice_step("ROUND_COMPLETED", "notify_round_completed", write_round_completed),
    ]


def _make_result(subject: PlayerSubject, title: str, choice: str) -> dict[str, Any]:
    """Make a game result that agrees with the player's choice."""
    return (
        _make_parity_result(subject, title, choice)
        if subject.question.method == CHOOSE
        else _make_plain_result(subject, title)
    )


def _make_plain_result(subject: PlayerSubject, title: str) -> dict[str, Any]:
    """Make a result for any game, without moves."""
    loss = {"a loss": "WIN", "a technical loss": "TECHNICAL_LOSS"}
    winner = subject.opponent_id if title in loss else subject.agent_id if title == "a win" else None
    status = "DRAW" if winner is None else loss.get(title, "WIN")
    reason = f"{winner} won" if winner else "draw"
    return {"status": status, "winner_player_id": winner, "choices": {}, "reason": reason}


def _make_parity_result(subject: PlayerSubject, title: str, choice: str) -> dict[str, Any]:
    other = "odd" if choice == "even" else "even"
    if title == "a technical loss":
        unknown: dict[str, Any] = {"drawn_number": None, "number_parity": None, "choices": {}}
        reason = f"{subject.agent_id} did not answer"
        return {"status": "TECHNICAL_LOSS", "winner_player_id": subject.opponent_id, **unknown, "reason": reason}
    parity = other if title == "a loss" else choice
    number = 8 if parity == "even" else 7
    return {
        "status": "DRAW" if title == "a draw" else "WIN",
        "winner_player_id": {"a win": subject.agent_id, "a loss": subject.opponent_id}.get(title),
        "drawn_number": number,
        "number_parity": parity,
        "choices": {subject.agent_id: choice, subject.opponent_id: choice if title == "a draw" else other},
        "reason": f"the number was {number} ({parity})",
    }


def _build_game_error_step() -> AnyStep:
    async def judge(subject: PlayerSubject) -> StepFinding:
        match = subject.new_match()
        return await judge_notice(
            subject, "GAME_ERROR", "notify_game_error", subject.write_game_error(match), subject.sign_match_token(match)
        )

    return CheckStep(
        "GAME_ERROR is acknowledged",
        ANY_RESULT,
        'Serve the method `notify_game_error` and return {"status": "ok"}.',
        judge,
    )


def _build_game_over_step(title: str) -> AnyStep:
    async def judge(subject: PlayerSubject) -> StepFinding:
        match, choice, method = subject.new_match(), "even", subject.question.method
        if JOIN in subject.call_forms and method in subject.call_forms:
            await subject.send_question(JOIN, subject.write_invitation(match), match)
            answer = (await subject.send_question(method, subject.write_question(match), match)).answer or {}
            choice = "odd" if answer.get("parity_choice") == "odd" else "even"
        subject.sent = []
        over = subject.write_game_over(match, **_make_result(subject, title, choice))
        return await judge_notice(subject, "GAME_OVER", RESULT_METHOD, over, subject.sign_match_token(match))

    return CheckStep(
        f"GAME_OVER after {title} is acknowledged",
        ANY_RESULT,
        'Serve the method `notify_match_result`, note the result, and return {"status": "ok"}.',
        judge,
    )


def _build_concurrency_steps(kind: str) -> list[AnyStep]:
    return [
        CheckStep(
            "an invitation that comes twice is accepted twice",
            "the same GAME_JOIN_ACK again",
            "A referee repeats an invitation when the answer was lost: answer it again like the first one.",
            _judge_repeated_invitation,
        ),
        CheckStep(
            "two matches at once are kept apart",
            "each answer with match_id and conversation_id of its own question",
            "Take match_id and conversation_id from the request that you answer, not from a variable that the next "
            "request overwrites.",
            tolerate_judge(_judge_two_matches),
        ),
        CheckStep(
            "eight questions at once are all answered",
            f"eight {kind}",
            "A league may ask you in several matches at the same time: let one request not wait for another.",
            tolerate_judge(_judge_eight_questions),
        ),
    ]


async def _judge_repeated_invitation(subject: PlayerSubject) -> StepFinding:
    _require_answer(subject, JOIN)
    subject.sent = []
    match = subject.new_match()
    answers = [
        (await subject.send_question(JOIN, subject.write_invitation(match), match)).answer or {} for _ in range(2)
    ]
    accepted = [answer.get("accept") for answer in answers]
    if accepted[0] == accepted[1] and answers[1]:
        return passed(f"accept is {format_redacted(accepted[1], 20)}, twice")
    return failed(f"accept is first {format_redacted(accepted[0], 20)}, then {format_redacted(accepted[1], 20)}")


async def _judge_two_matches(subject: PlayerSubject) -> StepFinding:
    _require_answer(subject, JOIN)
    _require_answer(subject, subject.question.method)
    subject.sent = []
    matches = [subject.new_match(), subject.new_match()]
    for method, write in ((JOIN, subject.write_invitation), (subject.question.method, subject.write_question)):
        answers = await asyncio.gather(*(subject.send_question(method, write(match), match) for match in matches))
        for match, exchange in zip(matches, answers, strict=True):
            for name, wanted in (("match_id", match.match_id), ("conversation_id", match.conversation_id)):
                found = (exchange.answer or {}).get(name)
                if exchange.answer is None or (found != wanted and not _is_wrong_alone(subject, method, name)):
                    return failed(f"asked in {match.match_id} ({match.conversation_id}): {exchange.reply_text}")
    return passed("each answer belongs to its question")


def _is_wrong_alone(subject: PlayerSubject, method: str, name: str) -> bool:
    """Whether the player gets this field wrong even in a single match, which has a step of its own."""
    alone = subject.exchanges[method]
    return bool((alone.answer or {}).get(name) != alone.message[name])


async def _judge_eight_questions(subject: PlayerSubject) -> StepFinding:
    method = subject.question.method
    _require_answer(subject, method)
    subject.sent = []
    matches = [subject.new_match() for _ in range(8)]
    for match in matches:
        await subject.send_question(JOIN, subject.write_invitation(match), match)
    subject.sent = []
    answers = await asyncio.gather(
        *(subject.send_question(method, subject.write_question(match), match) for match in matches)
    )
    silent = [exchange for exchange in answers if exchange.answer is None]
    return failed(silent[0].reply_text) if silent else passed("eight answers")


def _build_token_steps() -> list[AnyStep]:
    hint = (
        "Optional for players. Anybody who knows your address can ask you in advance: check 'auth_token', a JWT signed "
        "with Ed25519, with the manager's 'public_key' from your registration (match, referee and player must be "
        "right), and refuse others with E012. docs/reliability.md says what is in it."
    )

    def refuses(token: Callable[[PlayerSubject, TrialMatch], str]) -> Callable[[Any], Awaitable[StepFinding]]:
        async def judge(subject: PlayerSubject) -> StepFinding:
            _require_registration(subject)
            match = subject.new_match()
            await subject.send_question(JOIN, subject.write_invitation(match), match)
            subject.sent = []
            wrong = {**subject.write_question(match), "auth_token": token(subject, match)}
            method = subject.question.method
            exchange = await subject.ask(method, wrong, wanted=REPLY_TYPES[method])
            if exchange.answer is not None:
                return warned(f"it was answered: {exchange.reply_text}")
            return passed(exchange.league_code or "refused") if exchange.is_refused else failed(exchange.reply_text)

        return tolerate_judge(judge)

    async def refuses_manager(subject: PlayerSubject) -> StepFinding:
        _require_registration(subject)
        exchange = await subject.ask("update_standings", _write_standings(subject))
        if exchange.is_acknowledged:
            return warned("it was acknowledged")
        return passed(exchange.league_code or "refused") if exchange.is_refused else failed(exchange.reply_text)

    return [
        CheckStep(
            "a wrong token is refused",
            "LEAGUE_ERROR E012 to a question with a made-up auth_token",
            hint,
            refuses(lambda *_: "tok-ref01-made-up"),
        ),
        CheckStep(
            "a token of another match is refused",
            "LEAGUE_ERROR E012 to a question with the auth_token of another match",
            hint,
            refuses(lambda subject, _: subject.sign_match_token(subject.new_match())),
        ),
        CheckStep(
            "a stranger in the manager's name is refused",
            "LEAGUE_ERROR E011 to a notice without the manager's signed token in `Authorization: Bearer`",
            'Optional for players. Anybody can write "sender": "league_manager": check the token in the header '
            "`Authorization: Bearer`, a JWT signed with Ed25519, with the manager's 'public_key' from your "
            "registration (docs/reliability.md).",
            tolerate_judge(refuses_manager),
        ),
    ]


def _require_registration(subject: PlayerSubject) -> None:
    if subject.token is None:
        raise SkipStep("the player has not registered with the checker, so it can't know whose tokens are good")
    _require_answer(subject, subject.question.method)
    subject.sent = []


def _build_end_steps() -> list[AnyStep]:
    return [
        build_notice_step(
            "LEAGUE_COMPLETED",
            "notify_league_completed",
            lambda subject: write_league_completed(subject, subject.agent_id),
        )
    ]
