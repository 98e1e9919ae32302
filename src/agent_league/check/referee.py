"""The steps for a referee: the checker plays its manager and both its players, on its own servers."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agent_league.check.fields import (
    FIELD_HINTS,
    build_envelope_steps,
    judge_timestamp,
    judge_type,
    judge_value,
    make_message_judge,
)
from agent_league.check.frames import build_json_rpc_steps, build_server_steps
from agent_league.check.hostile_input import build_hostile_steps
from agent_league.check.http_probe import format_redacted
from agent_league.check.notices import build_notice_step, write_league_completed, write_round_completed
from agent_league.check.referee_readings import find_message_problem, find_report_problem
from agent_league.check.referee_subject import BEGIN_SECONDS, RefereedMatch, RefereeSubject
from agent_league.check.registration import build_registration_steps
from agent_league.check.scripted_agents import INVALID_JSON, PlayerBehaviour
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
from agent_league.clock import parse_utc
from agent_league.games.fairness import find_draw_problem
from agent_league.protocol.tolerance import POLL_METHOD

MAX_DEADLINE_GAP = 2.0
MAX_START_ATTEMPTS = 10
"""How often a match is offered to a referee that refuses it with E016."""
DRAWN_MATCHES = 6
"""Number of matches in which not all drawn numbers may be the same."""
MAX_MATCHES_TRIED = 16
"""The capacity of a referee is not tested if it takes more matches at once."""
REPORT_TYPE = "MATCH_RESULT_REPORT"
TECHNICAL_LOSS_HINT = (
    "A player that {} loses technically: GAME_OVER to both with status TECHNICAL_LOSS and the other as winner."
)


def build_referee_steps() -> list[AnyStep]:
    """Build all steps in order."""
    return [
        *build_server_steps(),
        *build_registration_steps("referee"),
        _build_start_step(),
        *_build_invitation_steps(),
        *_build_call_steps(),
        *_build_result_steps(),
        *_build_report_steps(),
        *_build_behaviour_steps(),
        *_build_order_steps(),
        *build_json_rpc_steps(),
        *build_hostile_steps(),
        _build_silence_step(),
        build_notice_step("ROUND_COMPLETED", "notify_round_completed", write_round_completed),
        build_notice_step(
            "LEAGUE_COMPLETED", "notify_league_completed", lambda subject: write_league_completed(subject, "P01")
        ),
    ]


def _build_start_step() -> AnyStep:
    async def judge(subject: RefereeSubject) -> StepFinding:
        played = await subject.start_match(PlayerBehaviour(answers=("even",)), PlayerBehaviour(answers=("odd",)))
        exchange = subject.store_exchange("start", played.start_exchange)
        is_begun = subject.starts_by_announcement or subject.starts_by_poll or "start_match" in subject.call_forms
        if exchange.is_acknowledged and not is_begun:
            return failed(f"{exchange.reply_text}, but nobody was invited within {BEGIN_SECONDS:g} s", ends=True)
        if exchange.is_acknowledged:
            if await played.wait_until_over(subject.options.match_seconds) or any(
                played.find_calls("handle_game_invitation", side) for side in (0, 1)
            ):
                subject.matches["first"] = played
            style = subject.call_forms.get("start_match")
            if style is None or style.name != "seeds":
                return warned("the match was begun, but not by `start_match`: " + "; ".join(subject.deviations))
            return passed(format_redacted(exchange.reply.body, 80))
        if exchange.league_error is not None:
            return failed(
                exchange.reply_text, f"The referee refuses a good order with {exchange.league_code}.", ends=True
            )
        if subject.registered_manager.poll_refusal:
            return failed(
                exchange.reply_text,
                f"The referee asks its manager for matches with `{POLL_METHOD}` and was refused: "
                f"{subject.registered_manager.poll_refusal}",
                ends=True,
            )
        return failed(
            exchange.reply_text,
            "The agent doesn't know `start_match`, nor another usual name of it: name it exactly `start_match`."
            if exchange.is_unknown_method
            else "",
            ends=True,
        )

    return CheckStep(
        "start_match is acknowledged",
        '{"status": "ok"}',
        'Serve the method `start_match`: take the match, return {"status": "ok"} at once, and play it afterwards.',
        judge,
    )


def _make_first_call_finder(method: str, side: int, what: str) -> Callable[[Any], Mapping[str, Any]]:
    """Make a function that returns the first call of this method that a player received in the first match."""

    def find(subject: RefereeSubject) -> Mapping[str, Any]:
        calls = subject.get_match("first").find_calls(method, side)
        if not calls:
            raise SkipStep(f"player {'AB'[side]} heard no {what}")
        subject.sent.append(f"nothing: the referee sent {format_redacted(calls[0].body)}")
        return calls[0].message

    return find


def _build_both_players_step(method: str, what: str, hint: str) -> AnyStep:
    async def judge(subject: RefereeSubject) -> StepFinding:
        played = subject.get_match("first")
        missing = [played.players[side].player_id for side in (0, 1) if not played.find_calls(method, side)]
        return failed(f"{' and '.join(missing)} heard none") if missing else passed("both heard one")

    return CheckStep(f"{what} reaches both players", f"one {what} for each", hint, judge)


def _build_value_step(
    kind: str, path: str, find: Callable[[Any], Mapping[str, Any]], wanted: Callable[[Any], Any], hint: str
) -> AnyStep:
    return CheckStep(
        f"{kind}: {path}",
        "the value of the order",
        hint,
        make_message_judge(find, lambda subject, found: judge_value(found, path, wanted(subject))),
    )


def _make_order_reader(name: str) -> Callable[[Any], Any]:
    return lambda subject: subject.get_match("first").order[name]


def _build_invitation_steps() -> list[AnyStep]:
    kind = "GAME_INVITATION"
    a, b = (_make_first_call_finder("handle_game_invitation", side, kind) for side in (0, 1))
    copy = "Copy '{}' from START_MATCH into GAME_INVITATION."
    return [
        _build_both_players_step(
            "handle_game_invitation", kind, "Call `handle_game_invitation` at the endpoints of both players."
        ),
        *_judge_like_agents(kind, a, build_envelope_steps(kind, a, "referee", lambda subject: subject.agent_id)),
        CheckStep(
            f"{kind}: conversation_id",
            "a string",
            "Put a 'conversation_id' into GAME_INVITATION, the same for the whole match.",
            make_message_judge(a, lambda _, found: judge_type(found, "conversation_id", str)),
        ),
        CheckStep(
            f"{kind}: auth_token",
            "the match_token of START_MATCH",
            "Show the players 'match_token' from START_MATCH as 'auth_token': with your own league token any player "
            "could report matches in your name.",
            make_message_judge(a, _judge_match_token),
        ),
        *_judge_like_agents(
            kind,
            a,
            [
                *(
                    _build_value_step(kind, name, a, _make_order_reader(name), copy.format(name))
                    for name in ("league_id", "round_id", "match_id", "game_type")
                ),
                _build_value_step(
                    kind, "role_in_match", a, lambda _: "PLAYER_A", "Tell player_A 'role_in_match': \"PLAYER_A\"."
                ),
            ],
        ),
        *_judge_like_agents(
            kind,
            b,
            [
                CheckStep(
                    f"{kind}: role_in_match of the other player",
                    '"PLAYER_B"',
                    "Tell player_B 'role_in_match': \"PLAYER_B\".",
                    make_message_judge(b, lambda _, found: judge_value(found, "role_in_match", "PLAYER_B")),
                )
            ],
        ),
        *_judge_like_agents(
            kind,
            a,
            [
                _build_value_step(
                    kind,
                    "opponent_id",
                    a,
                    lambda subject: subject.players[1].player_id,
                    "Tell each player the other's id.",
                )
            ],
        ),
    ]


def _judge_like_agents(
    kind: str, find: Callable[[Any], Mapping[str, Any]], steps: Sequence[AnyStep]
) -> Iterator[AnyStep]:
    """Make steps on fields of a message fail only if a player or manager of ours refuses such a message."""
    for step in steps:
        name = step.name.partition(": ")[2].partition(" ")[0].partition(".")[0]
        yield judge_like_league(step, partial(_find_field_problem, kind, find, name))


def _find_field_problem(
    kind: str, find: Callable[[Any], Mapping[str, Any]], name: str, subject: RefereeSubject
) -> str | None:
    """Return why an agent of ours refuses such a message; None if it accepts it, or reads only its result."""
    played = subject.get_match("first")
    if kind == REPORT_TYPE and played.is_report_in_reply:
        return None
    return find_message_problem(kind, find(subject), name, played.order, subject.agent_id, subject.own_name)


def _judge_match_token(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    token = found.get("auth_token")
    if token == subject.token:
        return warned("the referee's own league token")
    order = subject.get_match("first").order
    passes = {order["match_token"], *(order[side].get("match_token") for side in ("player_A", "player_B"))}
    return passed("the match token") if token in passes else failed("missing" if not token else "another token")


def _build_call_steps() -> list[AnyStep]:
    kind = "CHOOSE_PARITY_CALL"
    a = _make_first_call_finder("choose_parity", 0, kind)
    fields = [
        *build_envelope_steps(kind, a, "referee", lambda subject: subject.agent_id),
        CheckStep(
            f"{kind}: conversation_id",
            "the one of the invitation",
            "Use one 'conversation_id' for all messages of a match.",
            make_message_judge(a, _judge_conversation_id),
        ),
        _build_value_step(kind, "match_id", a, _make_order_reader("match_id"), FIELD_HINTS["match_id"]),
        _build_value_step(
            kind,
            "player_id",
            a,
            lambda subject: subject.players[0].player_id,
            "Put the id of the player asked into 'player_id'.",
        ),
        _build_value_step(kind, "game_type", a, _make_order_reader("game_type"), "Copy 'game_type' from START_MATCH."),
        CheckStep(
            f"{kind}: context",
            "opponent_id, round_id and your_standings",
            "Put 'context' into the call: opponent_id, round_id, and the player's own standings as 'your_standings'.",
            make_message_judge(a, _judge_context),
        ),
        CheckStep(
            f"{kind}: deadline",
            "UTC, in the future",
            "Put 'deadline' into the call: now plus 30 s, in UTC.",
            make_message_judge(a, lambda _, found: judge_timestamp(found, "deadline")),
        ),
    ]
    return [
        _build_both_players_step(
            "choose_parity", kind, "Ask both players with `choose_parity` as soon as both have joined."
        ),
        *_judge_like_agents(kind, a, fields),
        CheckStep(
            "both players have the same deadline",
            f"deadlines not more than {MAX_DEADLINE_GAP:g} s apart",
            "Ask both players at the same time, not one after the other: nobody may have more time, or know more.",
            _judge_deadlines,
        ),
    ]


def _judge_conversation_id(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    invited = subject.get_match("first").find_calls("handle_game_invitation", 0)[0].message
    return judge_value(found, "conversation_id", invited.get("conversation_id"))


def _judge_context(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    opponent = judge_value(found, "context.opponent_id", subject.players[1].player_id)
    missing = [name for name in ("round_id", "your_standings") if name not in (found.get("context") or {})]
    return (
        opponent
        if opponent.verdict is not StepVerdict.PASS or not missing
        else warned(f"missing: {', '.join(missing)}")
    )


async def _judge_deadlines(subject: RefereeSubject) -> StepFinding:
    calls = [_make_first_call_finder("choose_parity", side, "CHOOSE_PARITY_CALL")(subject) for side in (0, 1)]
    moments = [parse_utc(str(call.get("deadline"))) for call in calls]
    if None in moments:
        raise SkipStep("a deadline is missing or not in UTC")
    first, second = (moment for moment in moments if moment is not None)
    apart = abs((first - second).total_seconds())
    return passed(f"{apart:g} s apart") if apart <= MAX_DEADLINE_GAP else failed(f"{apart:g} s apart")


def _build_result_steps() -> list[AnyStep]:
    kind = "GAME_OVER"
    a = _make_first_call_finder("notify_match_result", 0, kind)
    game = "Even/Odd: who chose the parity of the drawn number wins; the same choice is a draw."
    return [
        _build_both_players_step(
            "notify_match_result", kind, "Call `notify_match_result` at both players, whatever the result is."
        ),
        *_judge_like_agents(
            kind,
            a,
            [
                *build_envelope_steps(kind, a, "referee", lambda subject: subject.agent_id),
                _build_value_step(kind, "match_id", a, _make_order_reader("match_id"), FIELD_HINTS["match_id"]),
            ],
        ),
        CheckStep(
            "both players are told the same result",
            "the same game_result",
            "Send one 'game_result' to both.",
            _judge_same_result,
        ),
        CheckStep(
            f"{kind}: game_result.choices",
            "what both players chose",
            "Put what each player answered into 'choices', by player id.",
            _make_result_judge(lambda _, result: judge_value(result, "choices", {"P01": "even", "P02": "odd"})),
        ),
        CheckStep(
            f"{kind}: game_result.drawn_number",
            "a number from 1 to 10",
            "Draw 'drawn_number' from 1 to 10 with a good source of chance, and send it as a number.",
            _make_result_judge(lambda _, result: _judge_drawn_number(result)),
        ),
        CheckStep(
            f"{kind}: game_result.number_parity",
            '"even" or "odd", as the number is',
            '\'number_parity\' is "even" where drawn_number % 2 is 0, else "odd".',
            _make_result_judge(lambda _, result: judge_value(result, "number_parity", get_number_parity(result))),
        ),
        CheckStep(
            f"{kind}: game_result.winner_player_id",
            "the player whose choice is the parity of the number",
            game,
            _make_result_judge(lambda _, result: judge_value(result, "winner_player_id", get_winner_id(result))),
        ),
        CheckStep(
            f"{kind}: game_result.status",
            '"WIN"',
            "'status' is WIN, DRAW or TECHNICAL_LOSS, in capitals.",
            _make_result_judge(lambda _, result: judge_value(result, "status", "WIN")),
        ),
        CheckStep(
            "the draw follows from what was promised",
            "the seed whose hash came with the invitation, and the number that follows from it",
            "Reveal in 'draw_seed' the seed whose SHA-256 you sent as 'draw_commitment', and draw from it.",
            _judge_draw_commitment,
        ),
    ]


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


def _make_result_judge(
    judge: Callable[[Any, Mapping[str, Any]], StepFinding],
) -> Callable[[Any], Awaitable[StepFinding]]:
    async def judged(subject: RefereeSubject) -> StepFinding:
        return judge(subject, _require_result(subject, "first"))

    return judged


def _require_result(subject: RefereeSubject, name: str) -> Mapping[str, Any]:
    result = subject.get_match(name).get_result()
    if result is None:
        raise SkipStep("player A heard no GAME_OVER with a game_result")
    subject.sent.append(f"nothing: the referee sent game_result {format_redacted(result)}")
    return result


async def _judge_same_result(subject: RefereeSubject) -> StepFinding:
    a, b = (subject.get_match("first").get_result(side) for side in (0, 1))
    if a is None or b is None:
        raise SkipStep("not both heard a game_result")
    return passed() if a == b else failed(f"A: {format_redacted(a, 250)}, B: {format_redacted(b, 250)}")


async def _judge_draw_commitment(subject: RefereeSubject) -> StepFinding:
    played = subject.get_match("first")
    invited = _make_first_call_finder("handle_game_invitation", 0, "GAME_INVITATION")(subject)
    if invited.get("draw_commitment") is None:
        raise SkipStep("the referee promises no seed beforehand; the protocol doesn't demand it")
    over = played.find_calls("notify_match_result", 0)[0].message
    problem = find_draw_problem(
        game_type="even_odd",
        parameters=invited.get("game_parameters"),
        players=("P01", "P02"),
        promised=invited["draw_commitment"],
        seed=over.get("draw_seed"),
        result=_require_result(subject, "first"),
    )
    return passed("seed, promise and number agree") if problem is None else failed(problem)


def _build_report_steps() -> list[AnyStep]:
    kind = REPORT_TYPE

    def report(subject: RefereeSubject) -> Mapping[str, Any]:
        found = subject.get_match("first").report
        if found is None:
            raise SkipStep("no report came")
        subject.sent.append(f"nothing: the referee sent {format_redacted(found)}")
        return found

    def find_booking(subject: RefereeSubject) -> str | None:
        return find_report_problem(
            report(subject), subject.get_match("first").order, get_winner_id(_require_result(subject, "first"))
        )

    async def arrives(subject: RefereeSubject) -> StepFinding:
        played = subject.get_match("first")
        calls = played.manager.find_calls("report_match_result", match_id=played.match_id)
        if calls:
            by_name = calls[0].called_method == "report_match_result"
            return (
                passed("a report")
                if by_name
                else warned(f"by {format_redacted(calls[0].called_method or calls[0].frame, 80)}")
            )
        return warned("inside the reply to the order") if played.report else failed("none")

    return [
        CheckStep(
            f"{kind} reaches the manager",
            "a call of `report_match_result`",
            "Call `report_match_result` at the manager once the match is over, and again until it is acknowledged.",
            arrives,
        ),
        *_judge_like_agents(
            kind, report, build_envelope_steps(kind, report, "referee", lambda subject: subject.agent_id)
        ),
        judge_like_league(
            CheckStep(
                f"{kind}: auth_token",
                "the referee's own token from its registration",
                "Put your own 'auth_token' from the registration into the report, else the manager refuses (E011, "
                "E012).",
                make_message_judge(report, lambda subject, found: judge_value(found, "auth_token", subject.token)),
            ),
            lambda subject: (
                None if subject.get_match("first").is_report_in_reply else "E011, or E012 for another's token"
            ),
        ),
        *_judge_like_agents(
            kind,
            report,
            [
                _build_value_step(kind, name, report, _make_order_reader(name), f"Copy '{name}' from START_MATCH.")
                for name in ("league_id", "round_id", "match_id")
            ],
        ),
        judge_like_league(
            CheckStep(
                f"{kind}: result.winner",
                "the winner whom the players were told",
                "Report the same winner as in GAME_OVER.",
                make_message_judge(
                    report,
                    lambda subject, found: judge_value(
                        found, "result.winner", get_winner_id(_require_result(subject, "first"))
                    ),
                ),
            ),
            find_booking,
        ),
        judge_like_league(
            CheckStep(
                f"{kind}: result.score",
                "3 for the winner, 0 for the loser",
                "Report the points in 'result.score', by player id: 3 for a win, 1 for a draw, 0 for a loss.",
                make_message_judge(report, _judge_score),
            ),
            find_booking,
        ),
    ]


def _judge_score(subject: RefereeSubject, found: Mapping[str, Any]) -> StepFinding:
    winner = get_winner_id(_require_result(subject, "first"))
    return judge_value(found, "result.score", {player: 3 if player == winner else 0 for player in ("P01", "P02")})


def _build_behaviour_steps() -> list[AnyStep]:
    return [
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
            _make_loss_judge(PlayerBehaviour(accept=False)),
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
            _make_loss_judge(PlayerBehaviour(answers=(INVALID_JSON,))),
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
    ]


async def _play_match(
    subject: RefereeSubject, a: PlayerBehaviour, b: PlayerBehaviour, limit: float | None = None
) -> RefereedMatch:
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
    subject.get_match("first")
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


def _make_loss_judge(behaviour: PlayerBehaviour, limit: float | None = None) -> Callable[[Any], Awaitable[StepFinding]]:
    async def judge(subject: RefereeSubject) -> StepFinding:
        subject.get_match("first")
        played = await _play_match(subject, replace(behaviour), PlayerBehaviour(answers=("odd",)), limit)
        told = [side for side in (0, 1) if played.find_calls("notify_match_result", side)]
        result = played.get_result(1)
        if result is None:
            return failed(f"no GAME_OVER to the other player within {limit or subject.options.match_seconds:g} s")
        if (result.get("status"), result.get("winner_player_id")) != ("TECHNICAL_LOSS", "P02"):
            return failed(format_redacted(result))
        winner = judge_value(played.report or {}, "result.winner", "P02")
        if winner.verdict is not StepVerdict.PASS:
            return failed(f"in the report {winner.came}" if played.report else "no report came")
        return passed("TECHNICAL_LOSS") if told == [0, 1] else warned("the loser was not told with GAME_OVER")

    return judge


def _build_silence_step() -> AnyStep:
    async def judge(subject: RefereeSubject) -> StepFinding:
        release = asyncio.Event()
        try:
            return await _make_loss_judge(PlayerBehaviour(release=release), subject.options.silent_match_seconds)(
                subject
            )
        finally:
            release.set()

    return CheckStep(
        "a player that stays silent loses technically",
        "TECHNICAL_LOSS, the other player wins",
        TECHNICAL_LOSS_HINT.format("doesn't answer within the limit, three times") + " No match may hang for ever.",
        judge,
    )


async def _judge_second_question(subject: RefereeSubject) -> StepFinding:
    subject.get_match("first")
    played = await _play_match(subject, PlayerBehaviour(answers=("Even", "even")), PlayerBehaviour(answers=("odd",)))
    errors = [call.message for call in played.find_calls("notify_game_error", 0)]
    asked = len(played.find_calls("choose_parity", 0))
    if asked < 2:
        return failed(f"asked {asked} time(s), and the result is {format_redacted(played.get_result(), 200)}")
    if not errors:
        return warned("asked again, but without a GAME_ERROR")
    found = judge_value(errors[0], "error_code", "E004")
    result = played.get_result() or {}
    return (
        found
        if found.verdict is not StepVerdict.PASS or result.get("status") == "WIN"
        else failed(format_redacted(result))
    )


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
    subject.get_match("first")
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
    subject.get_match("first")
    numbers = []
    for _ in range(DRAWN_MATCHES):
        played = await _play_match(subject, PlayerBehaviour(), PlayerBehaviour(answers=("odd",)))
        numbers.append((played.get_result() or {}).get("drawn_number"))
    said = ", ".join(map(str, numbers))
    if not all(isinstance(number, int) and 1 <= number <= 10 for number in numbers):
        return failed(said)
    return passed(said) if len(set(numbers)) > 1 else failed(said)


def _build_order_steps() -> list[AnyStep]:
    return [
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
            tolerate_judge(_judge_unknown_match),
        ),
        CheckStep(
            "an order from a player is refused",
            "LEAGUE_ERROR to a START_MATCH whose sender is not the manager",
            "Check 'sender': only \"league_manager\" may give you a match.",
            tolerate_judge(_make_stranger_judge("player:P66")),
        ),
        CheckStep(
            "an order without the manager's signature is refused",
            "LEAGUE_ERROR E011 to a START_MATCH without the signed token in `Authorization: Bearer`",
            'Anybody can write "sender": "league_manager": check the signed token in `Authorization: Bearer` with '
            "'public_key' from your registration.",
            tolerate_judge(_make_stranger_judge("league_manager")),
        ),
        CheckStep(
            "an order with a missing field is refused",
            "LEAGUE_ERROR E003 that names match_id",
            "Check that START_MATCH has all fields before you begin, and name what is missing (E003).",
            tolerate_judge(_judge_incomplete_order),
        ),
    ]


async def _judge_repeated_order(subject: RefereeSubject) -> StepFinding:
    played = subject.get_match("first")
    if subject.starts_by_poll:  # the match was in every list until it was reported
        invited = len(played.find_calls("handle_game_invitation", 0))
        return passed("not begun again") if invited == 1 else failed("the match was begun again")
    again = await subject.ask("start_match", played.order, bearer=subject.sign_manager_token())
    more = await played.players[0].wait_for_calls("handle_game_invitation", 1, count=2, match_id=played.match_id)
    if len(more) > 1:
        return failed("the match was begun again")
    return passed("acknowledged, not begun again") if again.is_acknowledged else warned(again.reply_text)


async def _judge_unknown_match(subject: RefereeSubject) -> StepFinding:
    exchange = await subject.ask("get_match_state", {"match_id": "R99M99"}, bearer=subject.sign_manager_token())
    if exchange.league_code == "E007":
        return passed("E007")
    return warned(exchange.reply_text) if exchange.is_refused else failed(exchange.reply_text)


def _make_stranger_judge(sender: str) -> Callable[[Any], Awaitable[StepFinding]]:
    async def judge(subject: RefereeSubject) -> StepFinding:
        subject.get_match("first")
        subject.require_orders()
        order = {**subject.write_order(subject.new_match_id()), "sender": sender}
        exchange = await subject.ask("start_match", order)
        if exchange.is_acknowledged:
            await subject.players[0].wait_for_calls(
                "notify_match_result", subject.options.match_seconds, match_id=order["match_id"]
            )
            return warned("it was acknowledged") if sender == "league_manager" else failed("it was acknowledged")
        return passed(exchange.league_code or "refused") if exchange.is_refused else failed(exchange.reply_text)

    return judge


async def _judge_incomplete_order(subject: RefereeSubject) -> StepFinding:
    subject.get_match("first")
    subject.require_orders()
    order = {name: value for name, value in subject.write_order("R9M999").items() if name != "match_id"}
    exchange = await subject.ask("start_match", order, bearer=subject.sign_manager_token())
    if exchange.league_code == "E003":
        return passed("E003")
    return warned(exchange.reply_text) if exchange.is_refused else failed(exchange.reply_text)
