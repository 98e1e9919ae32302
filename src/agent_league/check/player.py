"""The steps for a player of `league.v2`: the checker plays its referee and its manager."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from agent_league.agent.answers import unwrap_move
from agent_league.check.fields import (
    FIELD_HINTS,
    MessageRows,
    get_field,
    judge_timestamp,
    judge_value,
    make_field_names_hint,
)
from agent_league.check.http_probe import format_redacted, quote_redacted
from agent_league.check.notices import (
    ANY_RESULT,
    RESULT_METHOD,
    add_handler_hint,
    build_notice_step,
    judge_league_error,
    judge_notice,
    make_serve_hint,
    write_league_completed,
    write_notice,
    write_round_completed,
    write_standings_update,
)
from agent_league.check.player_subject import (
    CHOICES,
    CHOOSE,
    JOIN,
    MOVE,
    PARITY_QUESTION,
    ROUND_ID,
    CheckQuestion,
    PlayerSubject,
    TrialMatch,
    TrialPlayer,
    list_named_games,
)
from agent_league.check.registration import build_registration_steps
from agent_league.check.scripted_agents import EVEN_ODD
from agent_league.check.steps import (
    CheckStep,
    NoReply,
    Severity,
    SkipStep,
    StepFinding,
    StepVerdict,
    failed,
    passed,
    require,
    tolerate,
    warned,
)
from agent_league.check.subject import Exchange
from agent_league.check.transport_steps import (
    HOSTILE_STEPS,
    JSON_RPC_STEPS,
    SERVER_STEPS,
    build_survival_step,
    make_no_json_hint,
)
from agent_league.games.base import is_legal_move
from agent_league.protocol import v2
from agent_league.protocol.envelope import Sender

ANNOUNCED_MATCHES = 100
"""Matches of the round; more than a check needs."""
MOVE_SCHEMA: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
QUICK_SERVER_STEPS, QUICK_JSON_RPC_STEPS = 2, 4
"""Steps of each kind, from the first, that a quick check has."""
REPEATS = 8
"""How often a question is repeated: often enough that a random choice would differ at least once."""
UNWRAP_HINT = 'Put the move itself into "move_data", without an object around it: not every league unwraps it.'
NO_MAKE_MOVE = "the player doesn't serve `make_move`, which only games other than Even/Odd need"
STRANGE_IDS = ("conv ü/ö?&=% 你好", "CONV-" + "x" * 200, "0", "conv-r1m1-001 ")
"""Unusual conversation ids that are valid strings."""
UNKNOWN_FIELDS = {"weather": {"sunny": [True, None]}, "x-9": 1.5}
PlayerStep = CheckStep[PlayerSubject]


def build_player_steps(question: CheckQuestion = PARITY_QUESTION) -> list[PlayerStep]:
    """Build all steps in order; LEAGUE_COMPLETED comes last, because a player may exit then."""
    method = question.method
    return [
        *SERVER_STEPS,
        *build_registration_steps("player"),
        build_notice_step("ROUND_ANNOUNCEMENT", "notify_round", _write_announcement),
        *_build_question_steps(JOIN),
        *JOIN_STEPS,
        *_build_question_steps(method),
        *(CHOICE_STEPS if method == CHOOSE else MOVE_STEPS),
        *JSON_RPC_STEPS,
        *LENIENCE_STEPS,
        *RESULT_STEPS,
        *_build_concurrency_steps(PlayerSubject.reply_types[method]),
        *TOKEN_STEPS,
        *HOSTILE_STEPS,
        build_notice_step(
            "LEAGUE_COMPLETED",
            "notify_league_completed",
            lambda subject: write_league_completed(subject, subject.agent_id),
        ),
    ]


def build_quick_player_steps(question: CheckQuestion = PARITY_QUESTION) -> list[PlayerStep]:
    """Build the steps that tell within seconds whether a player can play: it is reached, joins and moves."""
    method = question.method
    moves = CHOICE_STEPS[:2] if method == CHOOSE else MOVE_STEPS
    return [
        *SERVER_STEPS[:QUICK_SERVER_STEPS],
        *_build_question_steps(JOIN),
        *JOIN_STEPS,
        *_build_question_steps(method),
        *moves,
        *JSON_RPC_STEPS[:QUICK_JSON_RPC_STEPS],
    ]


def require_answer(subject: TrialPlayer, method: str) -> Exchange:
    """Return the exchange in which a question was answered; skip the step if it never was."""
    return subject.require_exchange(method, subject.reply_types[method])


def need_answers(subject: TrialPlayer, *methods: str) -> None:
    """Skip the step if one of these questions was never answered."""
    for method in methods:
        require_answer(subject, method)
    subject.sent = []


def _need_joining(subject: TrialPlayer) -> None:
    need_answers(subject, JOIN)


def find_answer(method: str) -> Callable[[TrialPlayer], Mapping[str, Any]]:
    return lambda subject: require_answer(subject, method).answer or {}


def find_field_problem(method: str) -> Callable[[TrialPlayer, str], str | None]:
    """A field of an answer fails only if a referee of ours refuses such an answer."""
    return lambda subject, path: subject.find_problem(method, path)


def judge_copied(method: str, name: str) -> Callable[[TrialPlayer, Mapping[str, Any]], StepFinding]:
    return lambda subject, answer: judge_value(answer, name, subject.exchanges[method].message[name])


def judge_latency(seconds: float, limit: float) -> StepFinding:
    """Judge the seconds an answer took against its limit; more than half is a warning."""
    said = f"{seconds:.2f} s of {limit:g} s"
    if seconds > limit:
        return failed(f"too slow: {said}")
    return warned(f"slow: {said}") if seconds > limit / 2 else passed(said)


def build_latency_step(method: str, kind: str, asked: str) -> CheckStep[TrialPlayer]:
    return CheckStep(
        f"{kind}: in time",
        "less than half of the limit",
        f"Answer {asked} faster: over the limit the match is lost. Decide before you are asked, or cut long "
        "thinking off.",
        lambda subject: judge_latency(require_answer(subject, method).reply.seconds, subject.get_limit(method)),
    )


def _build_question_steps(method: str) -> list[PlayerStep]:
    """Build the steps on a question: whether it is answered, and the answer's frame, envelope, ids and latency."""
    kind = PlayerSubject.reply_types[method]
    rows = MessageRows[PlayerSubject](kind, find_answer(method), find_problem=find_field_problem(method))
    return [
        CheckStep(
            f"{method} is answered",
            f"a {kind}",
            f"Serve the method `{method}` and answer it with a {kind}.",
            partial(_judge_question, method=method, kind=kind),
        ),
        CheckStep(
            f"{kind}: it is the result",
            f"the {kind} itself as `result` of the JSON-RPC reply",
            f'Return {{"jsonrpc": "2.0", "result": {{"message_type": "{kind}", ...}}, "id": ...}}, without anything '
            "around it.",
            partial(_judge_place, method=method),
        ),
        CheckStep(
            f"{kind}: the names of its fields",
            "the protocol's names",
            f"Use the protocol's names in {kind}.",
            partial(_judge_field_names, method=method),
        ),
        *rows.envelope_rows(
            "player",
            lambda subject: subject.agent_id if subject.is_registered else None,
            lambda subject: subject.own_name,
        ),
        *(
            rows.row(name, "the one of the question", FIELD_HINTS[name], judge_copied(method, name))
            for name in ("conversation_id", "match_id")
        ),
        rows.row("player_id", "the id that the player was given", FIELD_HINTS["player_id"], _judge_player_id),
        rows.row("auth_token", "the token from the player's own registration", FIELD_HINTS["auth_token"], _judge_token),
        build_latency_step(method, kind, method),
    ]


async def _judge_question(subject: PlayerSubject, method: str, kind: str) -> StepFinding:
    """Ask in one call form after the other; invite first if a move is asked for."""
    if method == MOVE and subject.question.unplayable_reason:
        raise SkipStep(subject.question.unplayable_reason)
    match = subject.new_match()
    if method != JOIN and JOIN in subject.call_forms:
        await subject.send_question(JOIN, match)
        subject.sent = []
    with add_handler_hint(method):
        exchange = await subject.ask_in_any_form(
            method, subject.write_full_call(method, match), kind, subject.sign_match_token(match)
        )
    subject.store_exchange(method, exchange)
    games = list_named_games(subject.registration)
    if method == CHOOSE and exchange.answer is None and games and EVEN_ODD not in games:
        raise SkipStep("the player doesn't name even_odd, so that it is asked with `make_move`")
    if method == JOIN:
        _learn_agent_id(subject, exchange)
    return _judge_answered(subject, exchange, kind)


def _learn_agent_id(subject: PlayerSubject, exchange: Exchange) -> None:
    """Take over the id in the answer of a player that has not registered with the checker."""
    if subject.is_registered or exchange.answer is None:
        return
    sender = Sender.parse(str(exchange.answer.get("sender")))
    claimed = exchange.answer.get("player_id") or (sender.agent_id if sender else None)
    subject.agent_id = claimed if isinstance(claimed, str) else subject.agent_id


def _judge_answered(subject: PlayerSubject, exchange: Exchange, kind: str) -> StepFinding:
    method = exchange.method
    if exchange.answer is not None:
        form = subject.call_forms[method]
        if form.name == "seeds":
            return passed(f"a {kind}")
        said = form.description.replace("`", "")
        return warned(
            f"a {kind}, but only when asked in another form: {said}",
            f"Serve the method `{method}` with the message as `params`; not every league knows this form ({said}).",
        )
    if exchange.league_error is not None:
        return judge_league_error(subject, exchange)
    if why := subject.describe_refusal(exchange):
        return failed(exchange.reply_text, why)
    if exchange.is_unknown_method:
        return failed(
            exchange.reply_text,
            f"{exchange.agent_complaint}The agent doesn't know the method `{method}`, nor another usual name of it: "
            f"name it exactly `{method}`.",
        )
    said = make_no_json_hint(exchange) or exchange.agent_complaint.rstrip()
    return failed(exchange.reply_text, said or _make_no_answer_hint(exchange, kind))


def _make_no_answer_hint(exchange: Exchange, kind: str) -> str:
    """Write the hint for a method that is served and answers something else; empty if it answers nothing."""
    if not isinstance(exchange.body, dict) or exchange.body.get("result") is None:
        return ""
    where = "`structuredContent`, or as JSON in a text" if exchange.call_form.is_mcp else "`result`"
    return f"`{exchange.method}` is served, but its answer holds no {kind}: return one as {where}."


def _judge_place(subject: PlayerSubject, method: str) -> StepFinding:
    place = require_answer(subject, method).place
    right = place in subject.call_forms[method].answer_places
    return passed(place) if right else tolerate(warned(f"it is in {place}"))


def _judge_field_names(subject: PlayerSubject, method: str) -> StepFinding:
    noted = require_answer(subject, method).deviations
    if problem := subject.find_problem(method):
        return failed(f"a league refuses it: {problem}")
    return tolerate(warned(", ".join(noted), make_field_names_hint(noted))) if noted else passed()


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


def _judge_accept_type(_: TrialPlayer, answer: Mapping[str, Any]) -> StepFinding:
    found = get_field(answer, "accept")
    return passed(str(found).lower()) if isinstance(found, bool) else judge_value(answer, "accept", True)


def _judge_acceptance(_: TrialPlayer, answer: Mapping[str, Any]) -> StepFinding:
    if not isinstance(answer.get("accept"), bool):
        raise SkipStep("'accept' is no boolean")
    return passed("true") if answer["accept"] else failed("'accept' is false")


def _judge_choice(_: TrialPlayer, answer: Mapping[str, Any]) -> StepFinding:
    choice = answer.get("parity_choice")
    if choice in CHOICES:
        return passed(str(choice))
    if isinstance(choice, str) and choice.strip().lower() in CHOICES:
        return failed(
            f"'parity_choice' is {quote_redacted(choice)}",
            f"Write 'parity_choice' in small letters and without blanks: \"{choice.strip().lower()}\". No league "
            "tolerates another case: it is refused with E004.",
        )
    return judge_value(answer, "parity_choice", "even")


def _judge_move(subject: PlayerSubject, answer: Mapping[str, Any]) -> StepFinding:
    if "move_data" not in answer:
        return failed("'move_data' is missing")
    move, is_legal = answer["move_data"], partial(is_legal_move, subject.question.legal_moves)
    if is_legal(move):
        return passed(format_redacted(move, 40))
    came = f"'move_data' is {quote_redacted(move, 80)}"
    if unwrap_move(move, is_legal)[1]:
        return warned(came, UNWRAP_HINT)
    return failed(f"{came}, asked for {format_redacted(subject.question.move_request, 200)}")


async def _judge_repeated_question(subject: PlayerSubject, name: str) -> StepFinding:
    method = subject.question.method
    first = require_answer(subject, method)
    match = TrialMatch(str(first.message["match_id"]), str(first.message["conversation_id"]))
    before = (first.answer or {}).get(name)
    for _ in range(REPEATS):
        again = await subject.send_question(method, match, first.message)
        if again.answer is None:
            return failed(again.reply_text, "A repeated question must be answered like the first one.")
        now = again.answer.get(name)
        if now != before:
            return warned(f"first {format_redacted(before, 40)}, then {format_redacted(now, 40)}")
    return passed(f"{format_redacted(before, 40)}, each of {REPEATS} more times")


async def _judge_make_move(subject: PlayerSubject) -> StepFinding:
    """Judge whether `make_move` is served; only players that name other games than Even/Odd need it."""
    is_needed = any(game != EVEN_ODD for game in list_named_games(subject.registration))
    match = subject.new_match()
    await subject.send_question(JOIN, match)
    try:
        exchange = await subject.ask_in_any_form(
            MOVE, subject.write_move_call(match), subject.reply_types[MOVE], subject.sign_match_token(match)
        )
    except NoReply:
        if is_needed:
            raise
        raise SkipStep(NO_MAKE_MOVE) from None
    if exchange.answer is None and not is_needed:
        raise SkipStep(NO_MAKE_MOVE)
    if exchange.answer is None:
        return failed(exchange.reply_text, exchange.agent_complaint.rstrip())
    said = exchange.answer.get("move_data")
    move, unwrapped = unwrap_move(said, lambda one: one in CHOICES)
    came = f"'move_data' is {format_redacted(said, 80)}"
    if unwrapped:
        return warned(came, UNWRAP_HINT)
    if move not in CHOICES:
        return failed(came) if is_needed else warned(f"{came}; {NO_MAKE_MOVE}")
    return await _judge_schema_move(subject) if is_needed else passed(format_redacted(move, 40))


async def _judge_schema_move(subject: PlayerSubject) -> StepFinding:
    """Judge the move of a player of other games when `move_schema` stands in place of listed moves."""
    match = subject.new_match()
    await subject.send_question(JOIN, match)
    exchange = await subject.send_question(MOVE, match, subject.write_move_call(match, move_schema=MOVE_SCHEMA))
    move = (exchange.answer or {}).get("move_data")
    if type(move) is int and MOVE_SCHEMA["minimum"] <= move <= MOVE_SCHEMA["maximum"]:
        return passed("listed moves, and those of a schema")
    came = exchange.reply_text if exchange.answer is None else f"'move_data' is {format_redacted(move, 80)}"
    return warned(
        f"{came}, where the moves are told by a schema",
        "Where the moves are too many to be listed, `move_request` has a JSON Schema, `move_schema`, in place of "
        "`valid_options`: answer with a number from its `minimum` to its `maximum`.",
    )


def _build_repeat_step(name: str) -> PlayerStep:
    return CheckStep(
        "the same question gets the same answer",
        f"the same {name} when the question is repeated",
        "A referee may ask again when an answer was lost: remember your choice by match_id (and step) and give the "
        "same one.",
        partial(_judge_repeated_question, name=name),
    )


_JOIN_ACK = MessageRows[PlayerSubject]("GAME_JOIN_ACK", find_answer(JOIN))
_CHOICE = MessageRows[PlayerSubject]("CHOOSE_PARITY_RESPONSE", find_answer(CHOOSE))
_MOVE = MessageRows[PlayerSubject]("GAME_MOVE_RESPONSE", find_answer(MOVE))
JOIN_STEPS: tuple[PlayerStep, ...] = (
    _JOIN_ACK.row(
        "accept is a boolean",
        "true or false",
        'Put "accept": true into GAME_JOIN_ACK, as a JSON boolean: not "true", "yes" or 1.',
        _judge_accept_type,
    ),
    _JOIN_ACK.row(
        "the invitation is accepted",
        "true",
        "A player that declines loses the match technically: accept every invitation to a game you registered for.",
        _judge_acceptance,
    ),
    replace(_JOIN_ACK, find_problem=find_field_problem(JOIN)).row(
        "arrival_timestamp",
        "UTC, such as 2025-01-15T10:30:00Z",
        'Put "arrival_timestamp" into GAME_JOIN_ACK: the time at which the invitation arrived, in UTC.',
        lambda _, answer: judge_timestamp(answer, "arrival_timestamp", StepVerdict.WARNING),
    ),
)
CHOICE_STEPS: tuple[PlayerStep, ...] = (
    _CHOICE.row(
        "parity_choice",
        '"even" or "odd", in small letters',
        'Put "parity_choice" into the answer: exactly "even" or "odd", in small letters and without blanks. '
        "Anything else is refused with E004, and the match is lost after three tries.",
        _judge_choice,
    ),
    _build_repeat_step("parity_choice"),
    CheckStep(
        "make_move is answered with a legal move",
        'a GAME_MOVE_RESPONSE with one of valid_options in "move_data"',
        'Answer `make_move` with "move_data": one of "valid_options" of "move_request", unchanged.',
        _judge_make_move,
    ),
)
MOVE_STEPS: tuple[PlayerStep, ...] = (
    _MOVE.row(
        "move_data",
        "one of valid_options, or what move_schema allows",
        'Answer `make_move` with "move_data": one of "valid_options" of "move_request", unchanged. Anything else '
        "is refused, and the match is lost after three tries.",
        _judge_move,
    ),
    _build_repeat_step("move_data"),
)


async def _judge_echoed_ids(subject: PlayerSubject, ids: tuple[str, ...]) -> StepFinding:
    for conversation_id in ids:
        exchange = await subject.send_question(JOIN, subject.new_match(conversation_id))
        asked = f"asked with {quote_redacted(conversation_id, 120)}"
        if exchange.answer is None:
            return failed(f"{asked}: {exchange.reply_text}")
        found = judge_value(exchange.answer, "conversation_id", conversation_id)
        if found.verdict is not StepVerdict.PASS:
            return tolerate(failed(f"{asked}: {found.came}"))
    return passed(f"all {len(ids)}")


def build_lenience_step(
    title: str, kind: str, hint: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]
) -> CheckStep[TrialPlayer]:
    """Build a step on an unusual invitation; a refusal is only a warning, because our league never sends such."""

    async def judge(subject: TrialPlayer) -> StepFinding:
        match = subject.new_match()
        exchange = await subject.send_question(JOIN, match, change(subject.write_call(JOIN, match)))
        return passed(f"a {kind}") if exchange.answer is not None else failed(exchange.reply_text)

    return CheckStep(title, f"a {kind}", hint, judge, Severity.TOLERATED, needs=_need_joining)


def _shorten_invitation(invitation: Mapping[str, Any]) -> dict[str, Any]:
    extras = ("game_type", "role_in_match", "opponent_id")
    return {name: value for name, value in invitation.items() if name not in extras}


LENIENCE_STEPS: tuple[PlayerStep, ...] = (
    CheckStep(
        "three conversation ids come back, each with its answer",
        "each comes back as it was sent",
        FIELD_HINTS["conversation_id"],
        partial(_judge_echoed_ids, ids=("conv-a-001", "conv-b-002", "conv-c-003")),
        needs=_need_joining,
    ),
    CheckStep(
        "unusual conversation ids come back",
        "each comes back as it was sent",
        FIELD_HINTS["conversation_id"],
        partial(_judge_echoed_ids, ids=STRANGE_IDS),
        Severity.TOLERATED,
        needs=_need_joining,
    ),
    build_lenience_step(
        "unknown fields are ignored",
        "GAME_JOIN_ACK",
        "Ignore fields that you don't know: leagues add their own, and later versions of the protocol will.",
        lambda invitation: {**invitation, **UNKNOWN_FIELDS},
    ),
    build_lenience_step(
        "the shortest invitation is enough",
        "GAME_JOIN_ACK",
        "Only the envelope and match_id are sure to come: don't demand game_type, role_in_match or opponent_id.",
        _shorten_invitation,
    ),
    build_lenience_step(
        "a timestamp with fractions and +00:00 is accepted",
        "GAME_JOIN_ACK",
        "Read timestamps as ISO-8601 in UTC: Z and +00:00 mean the same, and seconds may have fractions.",
        lambda invitation: {**invitation, "timestamp": invitation["timestamp"].replace("Z", ".250+00:00")},
    ),
)


def _write_announcement(subject: PlayerSubject) -> Mapping[str, Any]:
    matches = [
        {
            "match_id": f"R{ROUND_ID}M{number}",
            "game_type": subject.question.game_type,
            "player_A_id": subject.agent_id,
            "player_B_id": subject.opponent_id,
            "referee_endpoint": subject.referee_endpoint,
        }
        for number in range(1, ANNOUNCED_MATCHES + 1)
    ]
    return write_notice(subject, v2.RoundAnnouncement, "conv-round-9-announce", round_id=ROUND_ID, matches=matches)


def _write_standings(subject: PlayerSubject) -> Mapping[str, Any]:
    return write_standings_update(subject, subject.agent_id, subject.opponent_id)


def _make_result(subject: PlayerSubject, title: str, choice: str) -> dict[str, Any]:
    """Make a game result that agrees with the player's choice; in other games than Even/Odd without moves."""
    player, other = subject.agent_id, subject.opponent_id
    winner = {"a win": player, "a draw": None}.get(title, other)
    status = {"a draw": "DRAW", "a technical loss": "TECHNICAL_LOSS"}.get(title, "WIN")
    result: dict[str, Any] = {"status": status, "winner_player_id": winner}
    if subject.question.method != CHOOSE:
        return {**result, "choices": {}, "reason": f"{winner} won" if winner else "draw"}
    if title == "a technical loss":
        unknown: dict[str, Any] = {"drawn_number": None, "number_parity": None, "choices": {}}
        return {**result, **unknown, "reason": f"{player} did not answer"}
    opposite = "odd" if choice == "even" else "even"
    parity = opposite if title == "a loss" else choice
    number = 8 if parity == "even" else 7
    choices = {player: choice, other: choice if title == "a draw" else opposite}
    drawn = {"drawn_number": number, "number_parity": parity, "choices": choices}
    return {**result, **drawn, "reason": f"the number was {number} ({parity})"}


async def _judge_game_error(subject: PlayerSubject) -> StepFinding:
    match = subject.new_match()
    token = subject.sign_match_token(match)
    return await judge_notice(subject, "GAME_ERROR", "notify_game_error", subject.write_game_error(match), token)


async def _judge_game_over(subject: PlayerSubject, title: str) -> StepFinding:
    match, choice, method = subject.new_match(), "even", subject.question.method
    if JOIN in subject.call_forms and method in subject.call_forms:
        await subject.send_question(JOIN, match)
        answer = (await subject.send_question(method, match)).answer or {}
        choice = "odd" if answer.get("parity_choice") == "odd" else "even"
    subject.sent = []
    over = subject.write_game_over(match, **_make_result(subject, title, choice))
    return await judge_notice(subject, "GAME_OVER", RESULT_METHOD, over, subject.sign_match_token(match))


RESULT_STEPS: tuple[PlayerStep, ...] = (
    CheckStep(
        "GAME_ERROR is acknowledged",
        ANY_RESULT,
        make_serve_hint("notify_game_error"),
        _judge_game_error,
        Severity.TOLERATED_IF_REGISTERED,  # a league needs no answer to a referee's notices
    ),
    build_survival_step("GAME_ERROR"),
    *(
        CheckStep(
            f"GAME_OVER after {title} is acknowledged",
            ANY_RESULT,
            'Serve the method `notify_match_result`, note the result, and return {"status": "ok"}.',
            partial(_judge_game_over, title=title),
            Severity.TOLERATED_IF_REGISTERED,
        )
        for title in ("a win", "a loss", "a draw", "a technical loss")
    ),
    build_survival_step("GAME_OVER"),
    build_notice_step("LEAGUE_STANDINGS_UPDATE", "update_standings", _write_standings),
    build_notice_step("ROUND_COMPLETED", "notify_round_completed", write_round_completed),
)


def _build_concurrency_steps(kind: str) -> list[PlayerStep]:
    return [
        CheckStep(
            "an invitation that comes twice is accepted twice",
            "the same GAME_JOIN_ACK again",
            "A referee repeats an invitation when the answer was lost: answer it again like the first one.",
            _judge_repeated_invitation,
            needs=_need_joining,
        ),
        CheckStep(
            "two matches at once are kept apart",
            "each answer with match_id and conversation_id of its own question",
            "Take match_id and conversation_id from the request that you answer, not from a variable that the next "
            "request overwrites.",
            lambda subject: judge_two_matches(subject, (JOIN, subject.question.method)),
            Severity.TOLERATED,
        ),
        CheckStep(
            "eight questions at once are all answered",
            f"eight {kind}",
            "A league may ask you in several matches at the same time: let one request not wait for another.",
            _judge_eight_questions,
            Severity.TOLERATED,
        ),
    ]


async def _judge_repeated_invitation(subject: PlayerSubject) -> StepFinding:
    match = subject.new_match()
    answers = [(await subject.send_question(JOIN, match)).answer or {} for _ in range(2)]
    first, second = (answer.get("accept") for answer in answers)
    if first == second and answers[1]:
        return passed(f"accept is {format_redacted(second, 20)}, twice")
    return failed(f"accept is first {format_redacted(first, 20)}, then {format_redacted(second, 20)}")


async def judge_two_matches(
    subject: TrialPlayer, methods: tuple[str, ...], *, excuses_known: bool = True
) -> StepFinding:
    """Ask in two matches at once; `excuses_known` passes over fields that are wrong in a single match too."""
    need_answers(subject, *methods)
    matches = [subject.new_match(), subject.new_match()]
    for method in methods:
        answers = await asyncio.gather(*(subject.send_question(method, match) for match in matches))
        for match, exchange in zip(matches, answers, strict=True):
            for name in ("match_id", "conversation_id"):
                is_wrong = (exchange.answer or {}).get(name) != getattr(match, name)
                if exchange.answer is None or (
                    is_wrong and not (excuses_known and _is_wrong_alone(subject, method, name))
                ):
                    return failed(f"asked in {match.match_id} ({match.conversation_id}): {exchange.reply_text}")
    return passed("each answer belongs to its question")


def _is_wrong_alone(subject: TrialPlayer, method: str, name: str) -> bool:
    """Whether the player gets this field wrong even in a single match, which has a step of its own."""
    alone = subject.exchanges[method]
    return bool((alone.answer or {}).get(name) != alone.message[name])


async def _judge_eight_questions(subject: PlayerSubject) -> StepFinding:
    method = subject.question.method
    need_answers(subject, method)
    matches = [subject.new_match() for _ in range(8)]
    for match in matches:
        await subject.send_question(JOIN, match)
    subject.sent = []
    answers = await asyncio.gather(*(subject.send_question(method, match) for match in matches))
    silent = [exchange for exchange in answers if exchange.answer is None]
    return failed(silent[0].reply_text) if silent else passed("eight answers")


def _need_tokens(subject: PlayerSubject) -> None:
    """Skip the step if the player can't know whose tokens are good, or answers no questions."""
    if subject.token is None:
        raise SkipStep("the player has not registered with the checker, so it can't know whose tokens are good")
    need_answers(subject, subject.question.method)


async def _judge_question_token(subject: PlayerSubject, is_made_up: bool) -> StepFinding:
    """Ask with a token that is made up, or that of another match."""
    method, match = subject.question.method, subject.new_match()
    await subject.send_question(JOIN, match)
    subject.sent = []
    question = subject.write_call(method, match)
    token = "tok-ref01-made-up" if is_made_up else subject.sign_match_token(subject.new_match())
    exchange = await subject.ask(method, {**question, "auth_token": token}, wanted=subject.reply_types[method])
    if exchange.answer is not None:
        return warned(f"it was answered: {exchange.reply_text}")
    return passed(exchange.league_code or "refused") if exchange.is_refused else failed(exchange.reply_text)


async def _judge_unsigned_notice(subject: PlayerSubject) -> StepFinding:
    exchange = await subject.ask("update_standings", _write_standings(subject))
    if exchange.is_acknowledged:
        return warned("it was acknowledged")
    return passed(exchange.league_code or "refused") if exchange.is_refused else failed(exchange.reply_text)


_SIGNED_HINT = (
    "Optional for players. Anybody who knows your address can ask you in advance: check 'auth_token', a JWT signed "
    "with Ed25519, with the manager's 'public_key' from your registration (match, referee and player must be "
    "right), and refuse others with E012. docs/reliability.md says what is in it."
)
TOKEN_STEPS = require(
    _need_tokens,
    CheckStep(
        "a wrong token is refused",
        "LEAGUE_ERROR E012 to a question with a made-up auth_token",
        _SIGNED_HINT,
        partial(_judge_question_token, is_made_up=True),
        Severity.TOLERATED,
    ),
    CheckStep(
        "a token of another match is refused",
        "LEAGUE_ERROR E012 to a question with the auth_token of another match",
        _SIGNED_HINT,
        partial(_judge_question_token, is_made_up=False),
        Severity.TOLERATED,
    ),
    CheckStep(
        "a stranger in the manager's name is refused",
        "LEAGUE_ERROR E011 to a notice without the manager's signed token in `Authorization: Bearer`",
        'Optional for players. Anybody can write "sender": "league_manager": check the token in the header '
        "`Authorization: Bearer`, a JWT signed with Ed25519, with the manager's 'public_key' from your "
        "registration (docs/reliability.md).",
        _judge_unsigned_notice,
        Severity.TOLERATED,
    ),
)
