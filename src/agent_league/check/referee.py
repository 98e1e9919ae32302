"""The steps for a referee: the checker plays its manager and both its players, on its own servers."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from agent_league.check.fields import (
    FIELD_HINTS,
    MessageRows,
    find_model_problem,
    judge_timestamp,
    judge_type,
    judge_value,
    take_as_came,
)
from agent_league.check.http_probe import format_redacted
from agent_league.check.notices import build_notice_step, write_league_completed, write_round_completed
from agent_league.check.referee_subject import BEGIN_SECONDS, AssignedMatch, RefereeSubject
from agent_league.check.registration import build_registration_steps
from agent_league.check.scripted_agents import EVEN_ODD, INVALID_JSON, PlayerBehaviour, format_now
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
from agent_league.check.transport_steps import HOSTILE_STEPS, JSON_RPC_STEPS, SERVER_STEPS, judge_refusal
from agent_league.clock import parse_utc
from agent_league.errors import Refusal
from agent_league.games.even_odd.wire import find_winner
from agent_league.games.fairness import find_draw_problem
from agent_league.games.registry import load_game
from agent_league.league.reports import DerivedResult, build_match_result, correct_by_details, parse_reported_result
from agent_league.model.results import Outcome, Scoring
from agent_league.model.schedule import Pairing
from agent_league.protocol.foreign_messages import GAME_OVER, KnownFacts, complete_message
from agent_league.protocol.tolerance import POLL_METHOD
from agent_league.protocol.version import PROTOCOL_V2

MAX_DEADLINE_GAP = 2.0
MAX_START_ATTEMPTS = 10
"""How often a match is offered to a referee that refuses it with E016."""
DRAWN_MATCHES = 6
"""Number of matches in which not all drawn numbers may be the same."""
MAX_MATCHES_TRIED = 16
"""The capacity of a referee is not tested if it takes more matches at once."""
INVITE, CHOOSE, RESULT, REPORT = (
    "handle_game_invitation",
    "choose_parity",
    "notify_match_result",
    "report_match_result",
)
REPORT_TYPE = "MATCH_RESULT_REPORT"
IDENTITY_FIELDS = ("sender", "league_id", "match_id")
"""Fields that must match the match token, or the manager's own records."""
TECHNICAL_LOSS_HINT = (
    "A player that {} loses technically: GAME_OVER to both with status TECHNICAL_LOSS and the other as winner."
)
RefereeStep = CheckStep[RefereeSubject]


def build_referee_steps() -> list[RefereeStep]:
    """Build all steps in order."""
    return [
        *SERVER_STEPS,
        *build_registration_steps("referee"),
        START_STEP,
        *INVITATION_STEPS,
        *CALL_STEPS,
        *RESULT_STEPS,
        *REPORT_STEPS,
        *BEHAVIOUR_STEPS,
        *ORDER_STEPS,
        *JSON_RPC_STEPS,
        *HOSTILE_STEPS,
        CheckStep(
            "a player that stays silent loses technically",
            "TECHNICAL_LOSS, the other player wins",
            TECHNICAL_LOSS_HINT.format("doesn't answer within the limit, three times") + " No match may hang for ever.",
            _judge_silent_player,
            needs=RefereeSubject.require_first_match,
        ),
        build_notice_step("ROUND_COMPLETED", "notify_round_completed", write_round_completed),
        build_notice_step(
            "LEAGUE_COMPLETED", "notify_league_completed", lambda subject: write_league_completed(subject, "P01")
        ),
    ]


async def _judge_start(subject: RefereeSubject) -> StepFinding:
    played = await subject.start_match(PlayerBehaviour(answers=("even",)), PlayerBehaviour(answers=("odd",)))
    exchange = subject.store_exchange("start", played.start_exchange)
    is_begun = subject.starts_by_announcement or subject.starts_by_poll or "start_match" in subject.call_forms
    if exchange.is_acknowledged and not is_begun:
        return failed(f"{exchange.reply_text}, but nobody was invited within {BEGIN_SECONDS:g} s", ends=True)
    if exchange.is_acknowledged:
        is_over = await played.wait_until_over(subject.options.match_seconds)
        if is_over or any(played.find_calls(INVITE, side) for side in (0, 1)):
            subject.matches["first"] = played
        form = subject.call_forms.get("start_match")
        if form is None or form.name != "seeds":
            return warned("the match was begun, but not by `start_match`: " + "; ".join(subject.deviations))
        return passed(format_redacted(exchange.reply.body, 80))
    if exchange.league_error is not None:
        hint = f"The referee refuses a good order with {exchange.league_code}."
    elif refusal := subject.registered_manager.poll_refusal:
        hint = f"The referee asks its manager for matches with `{POLL_METHOD}` and was refused: {refusal}"
    elif exchange.is_unknown_method:
        hint = "The agent doesn't know `start_match`, nor another usual name of it: name it exactly `start_match`."
    else:
        hint = ""
    return failed(exchange.reply_text, hint, ends=True)


START_STEP: RefereeStep = CheckStep(
    "start_match is acknowledged",
    '{"status": "ok"}',
    'Serve the method `start_match`: take the match, return {"status": "ok"} at once, and play it afterwards.',
    _judge_start,
)


def _find_first_call(method: str, side: int, kind: str) -> Callable[[RefereeSubject], Mapping[str, Any]]:
    """Make a function that returns the first call of this method that a player received in the first match."""

    def find(subject: RefereeSubject) -> Mapping[str, Any]:
        calls = subject.get_match("first").find_calls(method, side)
        if not calls:
            raise SkipStep(f"player {'AB'[side]} heard no {kind}")
        subject.sent.append(f"nothing: the referee sent {format_redacted(calls[0].body)}")
        return calls[0].message

    return find


def _find_report(subject: RefereeSubject) -> Mapping[str, Any]:
    found = subject.get_match("first").report
    if found is None:
        raise SkipStep("no report came")
    subject.sent.append(f"nothing: the referee sent {format_redacted(found)}")
    return found


def _find_result(subject: RefereeSubject) -> Mapping[str, Any]:
    result = subject.get_match("first").get_result()
    if result is None:
        raise SkipStep("player A heard no GAME_OVER with a game_result")
    subject.sent.append(f"nothing: the referee sent game_result {format_redacted(result)}")
    return result


def _make_rows(kind: str, find: Callable[[RefereeSubject], Mapping[str, Any]]) -> MessageRows[RefereeSubject]:
    """Make rows on a message that fail only if a player or manager of ours refuses it."""

    def find_problem(subject: RefereeSubject, path: str) -> str | None:
        if kind == REPORT_TYPE and subject.get_match("first").is_report_in_reply:
            return None  # a league reads only its result
        return find_message_problem(kind, find(subject), path.partition(".")[0], subject)

    return MessageRows(kind, find, find_problem=find_problem)


def find_message_problem(kind: str, came: Mapping[str, Any], name: str, subject: RefereeSubject) -> str | None:
    """Return why an agent of ours refuses a message with this field as it came and a right envelope; else None."""
    order = subject.get_match("first").order
    right = {
        "protocol": PROTOCOL_V2,
        "message_type": kind,
        "sender": f"referee:{subject.agent_id}",
        "timestamp": format_now(),
        **{copied: order[copied] for copied in ("conversation_id", "league_id", "match_id")},
    }
    message = take_as_came({**came, **right}, came, name)
    if kind == GAME_OVER:
        facts = KnownFacts(format_now(), right["sender"], order["player_A_id"], order["league_id"])
        message, _ = complete_message(kind, message, facts)
    if problem := find_model_problem(message, kind):
        return problem
    is_own_name = name == "sender" and message.get(name) == f"referee:{subject.own_name}"
    if name not in IDENTITY_FIELDS or message.get(name) in (None, right[name]) or is_own_name:
        return None
    return f"'{name}' must be {right[name]!r}"


def _read_order(name: str) -> Callable[[RefereeSubject], Any]:
    return lambda subject: subject.get_match("first").order[name]


def _get_referee_id(subject: RefereeSubject) -> str:
    return subject.agent_id


def _get_own_name(subject: RefereeSubject) -> str | None:
    return subject.own_name


def _build_both_players_step(method: str, kind: str, hint: str) -> RefereeStep:
    def judge(subject: RefereeSubject) -> StepFinding:
        played = subject.get_match("first")
        missing = [played.players[side].player_id for side in (0, 1) if not played.find_calls(method, side)]
        return failed(f"{' and '.join(missing)} heard none") if missing else passed("both heard one")

    return CheckStep(f"{kind} reaches both players", f"one {kind} for each", hint, judge)


def _judge_match_token(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    token = found.get("auth_token")
    if token == subject.token:
        return warned("the referee's own league token")
    order = subject.get_match("first").order
    tokens = {order["match_token"], *(order[side].get("match_token") for side in ("player_A", "player_B"))}
    return passed("the match token") if token in tokens else failed("another token" if token else "missing")


_ORDERED = "the value of the order"
_INVITATION = _make_rows("GAME_INVITATION", _find_first_call(INVITE, 0, "GAME_INVITATION"))
_OTHER_INVITATION = _make_rows("GAME_INVITATION", _find_first_call(INVITE, 1, "GAME_INVITATION"))
_STRICT_INVITATION = replace(_INVITATION, find_problem=None)
INVITATION_STEPS: tuple[RefereeStep, ...] = (
    _build_both_players_step(
        INVITE, "GAME_INVITATION", "Call `handle_game_invitation` at the endpoints of both players."
    ),
    *_INVITATION.envelope_rows("referee", _get_referee_id, _get_own_name),
    _STRICT_INVITATION.type_row(
        "conversation_id", "a string", "Put a 'conversation_id' into GAME_INVITATION, the same for the whole match."
    ),
    _STRICT_INVITATION.row(
        "auth_token",
        "the match_token of START_MATCH",
        "Show the players 'match_token' from START_MATCH as 'auth_token': with your own league token any player "
        "could report matches in your name.",
        _judge_match_token,
    ),
    *(
        _INVITATION.value_row(
            name, _ORDERED, f"Copy '{name}' from START_MATCH into GAME_INVITATION.", _read_order(name)
        )
        for name in ("league_id", "round_id", "match_id", "game_type")
    ),
    _INVITATION.value_row(
        "role_in_match", _ORDERED, "Tell player_A 'role_in_match': \"PLAYER_A\".", lambda _: "PLAYER_A"
    ),
    _OTHER_INVITATION.value_row(
        "role_in_match of the other player",
        '"PLAYER_B"',
        "Tell player_B 'role_in_match': \"PLAYER_B\".",
        lambda _: "PLAYER_B",
    ),
    _INVITATION.value_row(
        "opponent_id", _ORDERED, "Tell each player the other's id.", lambda subject: subject.players[1].player_id
    ),
)


def _judge_conversation_id(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    invited = subject.get_match("first").find_calls(INVITE, 0)[0].message
    return judge_value(found, "conversation_id", invited.get("conversation_id"))


def _judge_context(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    opponent = judge_value(found, "context.opponent_id", subject.players[1].player_id)
    missing = [name for name in ("round_id", "your_standings") if name not in (found.get("context") or {})]
    if opponent.verdict is StepVerdict.PASS and missing:
        return warned(f"missing: {', '.join(missing)}")
    return opponent


def _judge_deadlines(subject: RefereeSubject) -> StepFinding:
    calls = [_find_first_call(CHOOSE, side, "CHOOSE_PARITY_CALL")(subject) for side in (0, 1)]
    moments = [moment for call in calls if (moment := parse_utc(str(call.get("deadline"))))]
    if len(moments) < 2:
        raise SkipStep("a deadline is missing or not in UTC")
    apart = abs((moments[0] - moments[1]).total_seconds())
    return passed(f"{apart:g} s apart") if apart <= MAX_DEADLINE_GAP else failed(f"{apart:g} s apart")


_CALL = _make_rows("CHOOSE_PARITY_CALL", _find_first_call(CHOOSE, 0, "CHOOSE_PARITY_CALL"))
CALL_STEPS: tuple[RefereeStep, ...] = (
    _build_both_players_step(
        CHOOSE, "CHOOSE_PARITY_CALL", "Ask both players with `choose_parity` as soon as both have joined."
    ),
    *_CALL.envelope_rows("referee", _get_referee_id, _get_own_name),
    _CALL.row(
        "conversation_id",
        "the one of the invitation",
        "Use one 'conversation_id' for all messages of a match.",
        _judge_conversation_id,
    ),
    _CALL.value_row("match_id", _ORDERED, FIELD_HINTS["match_id"], _read_order("match_id")),
    _CALL.value_row(
        "player_id",
        _ORDERED,
        "Put the id of the player asked into 'player_id'.",
        lambda subject: subject.players[0].player_id,
    ),
    _CALL.value_row("game_type", _ORDERED, "Copy 'game_type' from START_MATCH.", _read_order("game_type")),
    _CALL.row(
        "context",
        "opponent_id, round_id and your_standings",
        "Put 'context' into the call: opponent_id, round_id, and the player's own standings as 'your_standings'.",
        _judge_context,
    ),
    _CALL.row(
        "deadline",
        "UTC, in the future",
        "Put 'deadline' into the call: now plus 30 s, in UTC.",
        lambda _, found: judge_timestamp(found, "deadline"),
    ),
    CheckStep(
        "both players have the same deadline",
        f"deadlines not more than {MAX_DEADLINE_GAP:g} s apart",
        "Ask both players at the same time, not one after the other: nobody may have more time, or know more.",
        _judge_deadlines,
    ),
)


def get_number_parity(result: Mapping[str, Any]) -> str:
    number = result.get("drawn_number")
    return "odd" if isinstance(number, int) and number % 2 else "even"


def get_winner_id(result: Mapping[str, Any]) -> str:
    """Return the right winner of the first match, in which P01 chose even and P02 odd."""
    return "P01" if get_number_parity(result) == "even" else "P02"


def _judge_drawn_number(result: Mapping[str, Any]) -> StepFinding:
    found = judge_type(result, "drawn_number", int)
    if found.verdict is StepVerdict.PASS and not 1 <= result["drawn_number"] <= 10:
        return failed(f"'drawn_number' is {result['drawn_number']}")
    return found


def _judge_same_result(subject: RefereeSubject) -> StepFinding:
    a, b = (subject.get_match("first").get_result(side) for side in (0, 1))
    if a is None or b is None:
        raise SkipStep("not both heard a game_result")
    return passed() if a == b else failed(f"A: {format_redacted(a, 250)}, B: {format_redacted(b, 250)}")


def _judge_draw_commitment(subject: RefereeSubject) -> StepFinding:
    invited = _find_first_call(INVITE, 0, "GAME_INVITATION")(subject)
    if invited.get("draw_commitment") is None:
        raise SkipStep("the referee promises no seed beforehand; the protocol doesn't demand it")
    over = subject.get_match("first").find_calls(RESULT, 0)[0].message
    problem = find_draw_problem(
        game_type=EVEN_ODD,
        parameters=invited.get("game_parameters"),
        players=("P01", "P02"),
        promised=invited["draw_commitment"],
        seed=over.get("draw_seed"),
        result=_find_result(subject),
    )
    return passed("seed, promise and number agree") if problem is None else failed(problem)


_GAME_OVER = _make_rows(GAME_OVER, _find_first_call(RESULT, 0, GAME_OVER))
_RESULT_VALUES: Mapping[str, tuple[str, str, Callable[[Mapping[str, Any]], StepFinding]]] = {
    "choices": (
        "what both players chose",
        "Put what each player answered into 'choices', by player id.",
        lambda result: judge_value(result, "choices", {"P01": "even", "P02": "odd"}),
    ),
    "drawn_number": (
        "a number from 1 to 10",
        "Draw 'drawn_number' from 1 to 10 with a good source of chance, and send it as a number.",
        _judge_drawn_number,
    ),
    "number_parity": (
        '"even" or "odd", as the number is',
        '\'number_parity\' is "even" where drawn_number % 2 is 0, else "odd".',
        lambda result: judge_value(result, "number_parity", get_number_parity(result)),
    ),
    "winner_player_id": (
        "the player whose choice is the parity of the number",
        "Even/Odd: who chose the parity of the drawn number wins; the same choice is a draw.",
        lambda result: judge_value(result, "winner_player_id", get_winner_id(result)),
    ),
    "status": (
        '"WIN"',
        "'status' is WIN, DRAW or TECHNICAL_LOSS, in capitals.",
        lambda result: judge_value(result, "status", "WIN"),
    ),
}
"""Field of `game_result` -> what it must be, how to mend it, and its judge."""


def _build_result_step(name: str) -> RefereeStep:
    expected, hint, judge = _RESULT_VALUES[name]
    return CheckStep(f"{GAME_OVER}: game_result.{name}", expected, hint, lambda subject: judge(_find_result(subject)))


RESULT_STEPS: tuple[RefereeStep, ...] = (
    _build_both_players_step(RESULT, GAME_OVER, "Call `notify_match_result` at both players, whatever the result is."),
    *_GAME_OVER.envelope_rows("referee", _get_referee_id, _get_own_name),
    _GAME_OVER.value_row("match_id", _ORDERED, FIELD_HINTS["match_id"], _read_order("match_id")),
    CheckStep(
        "both players are told the same result",
        "the same game_result",
        "Send one 'game_result' to both.",
        _judge_same_result,
    ),
    *map(_build_result_step, _RESULT_VALUES),
    CheckStep(
        "the draw follows from what was promised",
        "the seed whose hash came with the invitation, and the number that follows from it",
        "Reveal in 'draw_seed' the seed whose SHA-256 you sent as 'draw_commitment', and draw from it.",
        _judge_draw_commitment,
    ),
)


def _judge_report_arrival(subject: RefereeSubject) -> StepFinding:
    played = subject.get_match("first")
    calls = played.manager.find_calls(REPORT, match_id=played.match_id)
    if not calls:
        return warned("inside the reply to the order") if played.report else failed("none")
    if calls[0].called_method == REPORT:
        return passed("a report")
    return warned(f"by {format_redacted(calls[0].called_method or calls[0].frame, 80)}")


def _judge_score(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    winner = get_winner_id(_find_result(subject))
    return judge_value(found, "result.score", {player: 3 if player == winner else 0 for player in ("P01", "P02")})


def _find_token_problem(subject: RefereeSubject, _: str) -> str | None:
    return None if subject.get_match("first").is_report_in_reply else "E011, or E012 for another's token"


def _find_booking_problem(subject: RefereeSubject, _: str) -> str | None:
    order = subject.get_match("first").order
    return find_report_problem(_find_report(subject), order, get_winner_id(_find_result(subject)))


def find_report_problem(report: Mapping[str, Any], order: Mapping[str, Any], winner: str | None) -> str | None:
    """Return why our manager records another result than this winner from a report; None if it records this one."""
    players = (str(order["player_A_id"]), str(order["player_B_id"]))
    game = load_game(EVEN_ODD)

    def decide(*told: Any) -> DerivedResult | None:
        found = find_winner(game.rules, *told)
        return DerivedResult(*found) if found else None

    settled, _ = correct_by_details(report, players, game.parameters, decide)
    try:
        reported = parse_reported_result(settled) if isinstance(settled.get("result"), dict) else None
        if reported is None:
            return "the report names no result, and its details show none"
        booked = build_match_result(Pairing(str(order["match_id"]), 1, *players), reported, Scoring())
    except Refusal as refusal:
        return refusal.message
    if (booked.outcome, booked.winner) == (Outcome.WIN if winner else Outcome.DRAW, winner):
        return None
    return f"it is booked as {booked.outcome}, winner {booked.winner!r}"


_REPORT = _make_rows(REPORT_TYPE, _find_report)
_BOOKED_REPORT = replace(_REPORT, find_problem=_find_booking_problem)
REPORT_STEPS: tuple[RefereeStep, ...] = (
    CheckStep(
        f"{REPORT_TYPE} reaches the manager",
        "a call of `report_match_result`",
        "Call `report_match_result` at the manager once the match is over, and again until it is acknowledged.",
        _judge_report_arrival,
    ),
    *_REPORT.envelope_rows("referee", _get_referee_id, _get_own_name),
    replace(_REPORT, find_problem=_find_token_problem).value_row(
        "auth_token",
        "the referee's own token from its registration",
        "Put your own 'auth_token' from the registration into the report, else the manager refuses (E011, E012).",
        lambda subject: subject.token,
    ),
    *(
        _REPORT.value_row(name, _ORDERED, f"Copy '{name}' from START_MATCH.", _read_order(name))
        for name in ("league_id", "round_id", "match_id")
    ),
    _BOOKED_REPORT.value_row(
        "result.winner",
        "the winner whom the players were told",
        "Report the same winner as in GAME_OVER.",
        lambda subject: get_winner_id(_find_result(subject)),
    ),
    _BOOKED_REPORT.row(
        "result.score",
        "3 for the winner, 0 for the loser",
        "Report the points in 'result.score', by player id: 3 for a win, 1 for a draw, 0 for a loss.",
        _judge_score,
    ),
)


async def _play_match(
    subject: RefereeSubject, a: PlayerBehaviour, b: PlayerBehaviour, limit: float | None = None
) -> AssignedMatch:
    played = await subject.start_match(a, b)
    for _ in range(MAX_START_ATTEMPTS):
        if played.start_exchange.league_code != "E016":
            break
        await asyncio.sleep(0.5)  # it may still be busy with the end of the match before
        played = await subject.start_match(a, b)
    if not played.start_exchange.is_acknowledged:
        raise SkipStep(f"the referee did not take the match: {played.start_exchange.reply_text}")
    await played.wait_until_over(limit or subject.options.match_seconds)
    return played


async def _judge_tied_match(subject: RefereeSubject) -> StepFinding:
    played = await _play_match(subject, PlayerBehaviour(), PlayerBehaviour())
    result, report = played.get_result(), played.report
    if result is None:
        return failed(f"no GAME_OVER within {subject.options.match_seconds:g} s")
    if (result.get("status"), result.get("winner_player_id")) != ("DRAW", None):
        return failed(format_redacted(result))
    if report is None:
        return failed("no report came")
    found = judge_value(report, "result.score", {"P01": 1, "P02": 1})
    if found.verdict is StepVerdict.PASS:
        return passed("DRAW, 1 and 1")
    problem = find_report_problem(report, played.order, None)
    return tolerate(found) if problem is None else failed(f"{found.came}. A league books otherwise: {problem}")


async def _judge_technical_loss(
    subject: RefereeSubject, behaviour: PlayerBehaviour, limit: float | None = None
) -> StepFinding:
    """Judge a match in which player A behaves like this, and therefore must lose."""
    limit = limit or subject.options.match_seconds
    played = await _play_match(subject, replace(behaviour), PlayerBehaviour(answers=("odd",)), limit)
    result = played.get_result(1)
    if result is None:
        return failed(f"no GAME_OVER to the other player within {limit:g} s")
    if (result.get("status"), result.get("winner_player_id")) != ("TECHNICAL_LOSS", "P02"):
        return failed(format_redacted(result))
    winner = judge_value(played.report or {}, "result.winner", "P02")
    if winner.verdict is not StepVerdict.PASS:
        return failed(f"in the report {winner.came}" if played.report else "no report came")
    is_told = all(played.find_calls(RESULT, side) for side in (0, 1))
    return passed("TECHNICAL_LOSS") if is_told else warned("the loser was not told with GAME_OVER")


async def _judge_silent_player(subject: RefereeSubject) -> StepFinding:
    release = asyncio.Event()
    try:
        return await _judge_technical_loss(
            subject, PlayerBehaviour(release=release), subject.options.silent_match_seconds
        )
    finally:
        release.set()


async def _judge_second_question(subject: RefereeSubject) -> StepFinding:
    played = await _play_match(subject, PlayerBehaviour(answers=("Even", "even")), PlayerBehaviour(answers=("odd",)))
    errors = [call.message for call in played.find_calls("notify_game_error", 0)]
    asked = len(played.find_calls(CHOOSE, 0))
    if asked < 2:
        return failed(f"asked {asked} time(s), and the result is {format_redacted(played.get_result(), 200)}")
    if not errors:
        return warned("asked again, but without a GAME_ERROR")
    found = judge_value(errors[0], "error_code", "E004")
    result = played.get_result() or {}
    is_lost = found.verdict is StepVerdict.PASS and result.get("status") != "WIN"
    return failed(format_redacted(result)) if is_lost else found


async def _judge_capacity(subject: RefereeSubject) -> StepFinding:
    """Judge matches at once; a referee that answers `start_match` only after the match is tolerated."""
    try:
        return await _judge_full_referee(subject)
    except NoReply as error:
        if not error.silent:
            raise
        hint = 'Answer `start_match` with {"status": "ok"} at once, and play the match beside.'
        return tolerate(failed(f"{error.sentence}: it answers an order when the match is over", hint))


async def _judge_full_referee(subject: RefereeSubject) -> StepFinding:
    if subject.max_concurrent_matches > MAX_MATCHES_TRIED:
        raise SkipStep(
            f"the referee takes {subject.max_concurrent_matches} matches at once, more than the checker tries"
        )
    release = asyncio.Event()
    if subject.get_match("first").is_report_in_reply:
        raise SkipStep("the referee answers an order when the match is over, so that the checker can't fill it up")
    try:
        running = [
            await subject.start_match(PlayerBehaviour(release=release), PlayerBehaviour(answers=("odd",)))
            for _ in range(subject.max_concurrent_matches)
        ]
        refused = [played.start_exchange.reply_text for played in running if not played.start_exchange.is_acknowledged]
        if refused:
            return failed(f"of {subject.max_concurrent_matches} matches at once one was refused: {refused[0]}")
        extra = (
            None
            if subject.starts_by_poll
            else await subject.start_match(PlayerBehaviour(), PlayerBehaviour(answers=("odd",)))
        )
    finally:
        release.set()
    over = [await played.wait_until_over(subject.options.match_seconds) for played in running]
    subject.matches |= {f"draw-{played.match_id}": played for played in running}
    if not all(over):
        return failed(f"{over.count(False)} of {len(over)} matches never came to their end")
    if extra is None:
        return passed(f"{len(running)} at once; one that fetches its matches is offered no more")
    if extra.start_exchange.league_code == "E016":
        return passed(f"{len(running)} at once, E016 for one more")
    if extra.start_exchange.is_acknowledged:
        await extra.wait_until_over(subject.options.match_seconds)
        return warned(f"a match beyond max_concurrent_matches ({subject.max_concurrent_matches}) was taken")
    return warned(extra.start_exchange.reply_text)


async def _judge_varying_draws(subject: RefereeSubject) -> StepFinding:
    numbers = []
    for _ in range(DRAWN_MATCHES):
        played = await _play_match(subject, PlayerBehaviour(), PlayerBehaviour(answers=("odd",)))
        numbers.append((played.get_result() or {}).get("drawn_number"))
    said = ", ".join(map(str, numbers))
    if not all(isinstance(number, int) and 1 <= number <= 10 for number in numbers):
        return failed(said)
    return passed(said) if len(set(numbers)) > 1 else failed(said)


BEHAVIOUR_STEPS = require(
    RefereeSubject.require_first_match,
    CheckStep(
        "the same choice is a draw",
        "DRAW, no winner, 1 point each",
        "Where both chose the same, both were right or both wrong: status DRAW, winner null, score 1 and 1.",
        _judge_tied_match,
    ),
    CheckStep(
        "a player that declines loses technically",
        "TECHNICAL_LOSS, the other player wins",
        TECHNICAL_LOSS_HINT.format("declines the invitation"),
        partial(_judge_technical_loss, behaviour=PlayerBehaviour(accept=False)),
    ),
    CheckStep(
        "a choice in the wrong case is told with E004 and asked again",
        "GAME_ERROR E004 to the player, and the question once more",
        'Only "even" and "odd" are choices. Tell the player with GAME_ERROR (E004), and ask again.',
        _judge_second_question,
    ),
    CheckStep(
        "a player that answers rubbish loses technically",
        "TECHNICAL_LOSS, the other player wins",
        TECHNICAL_LOSS_HINT.format("answers three times with what can't be read"),
        partial(_judge_technical_loss, behaviour=PlayerBehaviour(answers=(INVALID_JSON,))),
    ),
    CheckStep(
        "matches at once are kept apart, and one too many is refused with E016",
        "E016 for the match beyond max_concurrent_matches; the others come to their end",
        "Answer `start_match` with LEAGUE_ERROR E016 while you run as many matches as you registered for.",
        _judge_capacity,
    ),
    CheckStep(
        "the draw varies, from 1 to 10",
        f"not the same number in {DRAWN_MATCHES} matches",
        "Draw anew in each match; a fixed seed or a constant gives the same number again and again.",
        _judge_varying_draws,
    ),
)


async def _judge_repeated_order(subject: RefereeSubject) -> StepFinding:
    played = subject.get_match("first")
    if subject.starts_by_poll:  # the match was in every list until it was reported
        invited = len(played.find_calls(INVITE, 0))
        return passed("not begun again") if invited == 1 else failed("the match was begun again")
    again = await subject.ask("start_match", played.order, bearer=subject.sign_manager_token())
    more = await played.players[0].wait_for_calls(INVITE, 1, count=2, match_id=played.match_id)
    if len(more) > 1:
        return failed("the match was begun again")
    return passed("acknowledged, not begun again") if again.is_acknowledged else warned(again.reply_text)


async def _judge_unknown_match(subject: RefereeSubject) -> StepFinding:
    exchange = await subject.ask("get_match_state", {"match_id": "R99M99"}, bearer=subject.sign_manager_token())
    return replace(judge_refusal(exchange, "E007"), hint="")


async def _judge_stranger(subject: RefereeSubject, sender: str) -> StepFinding:
    """Send an order without the manager's signature, in the name of this sender."""
    order = {**subject.write_order(subject.new_match_id()), "sender": sender}
    exchange = await subject.ask("start_match", order)
    if exchange.is_acknowledged:
        limit = subject.options.match_seconds
        await subject.players[0].wait_for_calls(RESULT, limit, match_id=order["match_id"])
        return warned("it was acknowledged") if sender == "league_manager" else failed("it was acknowledged")
    return passed(exchange.league_code or "refused") if exchange.is_refused else failed(exchange.reply_text)


async def _judge_incomplete_order(subject: RefereeSubject) -> StepFinding:
    order = {name: value for name, value in subject.write_order("R9M999").items() if name != "match_id"}
    exchange = await subject.ask("start_match", order, bearer=subject.sign_manager_token())
    return replace(judge_refusal(exchange, "E003"), hint="")  # the advice of the step says more


ORDER_STEPS: tuple[RefereeStep, ...] = (
    CheckStep(
        "an order that comes twice is played once",
        "acknowledged, and nobody is invited again",
        "A manager repeats START_MATCH when your answer was lost: know the match by match_id, don't begin it anew.",
        _judge_repeated_order,
    ),
    CheckStep(
        "get_match_state of an unknown match is refused with E007",
        "LEAGUE_ERROR E007",
        "Serve `get_match_state`, and answer an unknown match_id with LEAGUE_ERROR E007.",
        _judge_unknown_match,
        Severity.TOLERATED,
    ),
    CheckStep(
        "an order from a player is refused",
        "LEAGUE_ERROR to a START_MATCH whose sender is not the manager",
        "Check 'sender': only \"league_manager\" may give you a match.",
        partial(_judge_stranger, sender="player:P66"),
        Severity.TOLERATED,
        needs=RefereeSubject.require_orders,
    ),
    CheckStep(
        "an order without the manager's signature is refused",
        "LEAGUE_ERROR E011 to a START_MATCH without the signed token in `Authorization: Bearer`",
        'Anybody can write "sender": "league_manager": check the signed token in `Authorization: Bearer` with '
        "'public_key' from your registration.",
        partial(_judge_stranger, sender="league_manager"),
        Severity.TOLERATED,
        needs=RefereeSubject.require_orders,
    ),
    CheckStep(
        "an order with a missing field is refused",
        "LEAGUE_ERROR E003 that names match_id",
        "Check that START_MATCH has all fields before you begin, and name what is missing (E003).",
        _judge_incomplete_order,
        Severity.TOLERATED,
        needs=RefereeSubject.require_orders,
    ),
)
