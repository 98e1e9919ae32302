"""The steps for a referee: the checker plays its manager and both its players, on its own servers."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agent_league.check.fields import HINTS, envelope_steps, judge_kind, judge_timestamp, judge_value, on
from agent_league.check.frames import json_rpc_steps, server_steps
from agent_league.check.hostile_input import hostile_steps
from agent_league.check.http_probe import show
from agent_league.check.notices import league_completed, notice_step, round_completed
from agent_league.check.referee_readings import find_booking_problem, find_message_problem
from agent_league.check.referee_subject import BEGIN_SECONDS, Played, RefereeBench
from agent_league.check.registration import registration_steps
from agent_league.check.scripted_agents import RUBBISH, Behaviour
from agent_league.check.steps import (
    AnyStep,
    Finding,
    NoReply,
    Skip,
    Step,
    Verdict,
    failed,
    judge_like_league,
    passed,
    tolerate,
    tolerate_all,
    warned,
)
from agent_league.clock import parse_utc
from agent_league.games.fairness import draw_problem
from agent_league.protocol.tolerance import POLL

SAME_SECONDS = 2.0
PATIENCE = 10
"""How often a match is offered to a referee that refuses it with E016."""
DRAWS = 6
"""Number of matches in which not all drawn numbers may be the same."""
MANY = 16
"""The capacity of a referee is not tested if it takes more matches at once."""
REPORT = "MATCH_RESULT_REPORT"
LOST = "A player that {} loses technically: GAME_OVER to both with status TECHNICAL_LOSS and the other as winner."


def referee_steps() -> list[AnyStep]:
    """Build all steps in order."""
    return [
        *server_steps(),
        *registration_steps("referee"),
        _start_step(),
        *_invitation_steps(),
        *_call_steps(),
        *_result_steps(),
        *_report_steps(),
        *_behaviour_steps(),
        *_order_steps(),
        *json_rpc_steps(),
        *hostile_steps(),
        _silence_step(),
        notice_step("ROUND_COMPLETED", "notify_round_completed", round_completed),
        notice_step("LEAGUE_COMPLETED", "notify_league_completed", lambda bench: league_completed(bench, "P01")),
    ]


def _start_step() -> AnyStep:
    async def judge(bench: RefereeBench) -> Finding:
        played = await bench.start(Behaviour(answers=("even",)), Behaviour(answers=("odd",)))
        exchange = bench.keep("start", played.started)
        is_begun = bench.by_announcement or bench.by_poll or "start_match" in bench.styles
        if exchange.acknowledged and not is_begun:
            return failed(f"{exchange.came}, but nobody was invited within {BEGIN_SECONDS:g} s", ends=True)
        if exchange.acknowledged:
            if await played.is_over(bench.options.match) or any(
                played.heard("handle_game_invitation", side) for side in (0, 1)
            ):
                bench.matches["first"] = played
            style = bench.styles.get("start_match")
            if style is None or style.name != "seeds":
                return warned("the match was begun, but not by `start_match`: " + "; ".join(bench.noted))
            return passed(show(exchange.reply.body, 80))
        if exchange.league_error is not None:
            return failed(exchange.came, f"The referee refuses a good order with {exchange.league_code}.", ends=True)
        if bench.boss.refused_poll:
            return failed(
                exchange.came,
                f"The referee asks its manager for matches with `{POLL}` and was refused: {bench.boss.refused_poll}",
                ends=True,
            )
        return failed(
            exchange.came,
            "The agent doesn't know `start_match`, nor another usual name of it: name it exactly `start_match`."
            if exchange.unknown_method
            else "",
            ends=True,
        )

    return Step(
        "start_match is acknowledged",
        '{"status": "ok"}',
        'Serve the method `start_match`: take the match, return {"status": "ok"} at once, and play it afterwards.',
        judge,
    )


def _first(method: str, side: int, what: str) -> Callable[[Any], Mapping[str, Any]]:
    """Make a function that returns the first call of this method that a player received in the first match."""

    def find(bench: RefereeBench) -> Mapping[str, Any]:
        calls = bench.played("first").heard(method, side)
        if not calls:
            raise Skip(f"player {'AB'[side]} heard no {what}")
        bench.sent.append(f"nothing: the referee sent {show(calls[0].body)}")
        return calls[0].message

    return find


def _both(method: str, what: str, hint: str) -> AnyStep:
    async def judge(bench: RefereeBench) -> Finding:
        played = bench.played("first")
        missing = [played.players[side].player_id for side in (0, 1) if not played.heard(method, side)]
        return failed(f"{' and '.join(missing)} heard none") if missing else passed("both heard one")

    return Step(f"{what} reaches both players", f"one {what} for each", hint, judge)


def _is(
    kind: str, path: str, find: Callable[[Any], Mapping[str, Any]], wanted: Callable[[Any], Any], hint: str
) -> AnyStep:
    return Step(
        f"{kind}: {path}",
        "the value of the order",
        hint,
        on(find, lambda bench, found: judge_value(found, path, wanted(bench))),
    )


def _of_order(name: str) -> Callable[[Any], Any]:
    return lambda bench: bench.played("first").order[name]


def _invitation_steps() -> list[AnyStep]:
    kind = "GAME_INVITATION"
    a, b = (_first("handle_game_invitation", side, kind) for side in (0, 1))
    copy = "Copy '{}' from START_MATCH into GAME_INVITATION."
    return [
        _both("handle_game_invitation", kind, "Call `handle_game_invitation` at the endpoints of both players."),
        *_read_by_league(kind, a, envelope_steps(kind, a, "referee", lambda bench: bench.agent_id)),
        Step(
            f"{kind}: conversation_id",
            "a string",
            "Put a 'conversation_id' into GAME_INVITATION, the same for the whole match.",
            on(a, lambda _, found: judge_kind(found, "conversation_id", str)),
        ),
        Step(
            f"{kind}: auth_token",
            "the match_token of START_MATCH",
            "Show the players 'match_token' from START_MATCH as 'auth_token': with your own league token any player "
            "could report matches in your name.",
            on(a, _judge_pass),
        ),
        *_read_by_league(
            kind,
            a,
            [
                *(
                    _is(kind, name, a, _of_order(name), copy.format(name))
                    for name in ("league_id", "round_id", "match_id", "game_type")
                ),
                _is(kind, "role_in_match", a, lambda _: "PLAYER_A", "Tell player_A 'role_in_match': \"PLAYER_A\"."),
            ],
        ),
        *_read_by_league(
            kind,
            b,
            [
                Step(
                    f"{kind}: role_in_match of the other player",
                    '"PLAYER_B"',
                    "Tell player_B 'role_in_match': \"PLAYER_B\".",
                    on(b, lambda _, found: judge_value(found, "role_in_match", "PLAYER_B")),
                )
            ],
        ),
        *_read_by_league(
            kind,
            a,
            [_is(kind, "opponent_id", a, lambda bench: bench.players[1].player_id, "Tell each player the other's id.")],
        ),
    ]


def _read_by_league(kind: str, find: Callable[[Any], Mapping[str, Any]], steps: Sequence[AnyStep]) -> Iterator[AnyStep]:
    """Make steps on fields of a message fail only if a player or manager of ours refuses such a message."""
    for step in steps:
        name = step.name.partition(": ")[2].partition(" ")[0].partition(".")[0]
        yield judge_like_league(step, partial(_find_problem, kind, find, name))


def _find_problem(kind: str, find: Callable[[Any], Mapping[str, Any]], name: str, bench: RefereeBench) -> str | None:
    """Return why an agent of ours refuses such a message; None if it accepts it, or reads only its result."""
    played = bench.played("first")
    if kind == REPORT and played.is_report_in_reply:
        return None
    return find_message_problem(kind, find(bench), name, played.order, bench.agent_id, bench.own_name)


def _judge_pass(bench: RefereeBench, found: Mapping[str, Any]) -> Finding:
    token = found.get("auth_token")
    if token == bench.token:
        return warned("the referee's own league token")
    order = bench.played("first").order
    passes = {order["match_token"], *(order[side].get("match_token") for side in ("player_A", "player_B"))}
    return passed("the match token") if token in passes else failed("missing" if not token else "another token")


def _call_steps() -> list[AnyStep]:
    kind = "CHOOSE_PARITY_CALL"
    a = _first("choose_parity", 0, kind)
    fields = [
        *envelope_steps(kind, a, "referee", lambda bench: bench.agent_id),
        Step(
            f"{kind}: conversation_id",
            "the one of the invitation",
            "Use one 'conversation_id' for all messages of a match.",
            on(a, _same_conversation),
        ),
        _is(kind, "match_id", a, _of_order("match_id"), HINTS["match_id"]),
        _is(
            kind,
            "player_id",
            a,
            lambda bench: bench.players[0].player_id,
            "Put the id of the player asked into 'player_id'.",
        ),
        _is(kind, "game_type", a, _of_order("game_type"), "Copy 'game_type' from START_MATCH."),
        Step(
            f"{kind}: context",
            "opponent_id, round_id and your_standings",
            "Put 'context' into the call: opponent_id, round_id, and the player's own standings as 'your_standings'.",
            on(a, _judge_context),
        ),
        Step(
            f"{kind}: deadline",
            "UTC, in the future",
            "Put 'deadline' into the call: now plus 30 s, in UTC.",
            on(a, lambda _, found: judge_timestamp(found, "deadline")),
        ),
    ]
    return [
        _both("choose_parity", kind, "Ask both players with `choose_parity` as soon as both have joined."),
        *_read_by_league(kind, a, fields),
        Step(
            "both players have the same deadline",
            f"deadlines not more than {SAME_SECONDS:g} s apart",
            "Ask both players at the same time, not one after the other: nobody may have more time, or know more.",
            _same_deadline,
        ),
    ]


def _same_conversation(bench: RefereeBench, found: Mapping[str, Any]) -> Finding:
    invited = bench.played("first").heard("handle_game_invitation", 0)[0].message
    return judge_value(found, "conversation_id", invited.get("conversation_id"))


def _judge_context(bench: RefereeBench, found: Mapping[str, Any]) -> Finding:
    opponent = judge_value(found, "context.opponent_id", bench.players[1].player_id)
    missing = [name for name in ("round_id", "your_standings") if name not in (found.get("context") or {})]
    return opponent if opponent.verdict is not Verdict.PASS or not missing else warned(f"missing: {', '.join(missing)}")


async def _same_deadline(bench: RefereeBench) -> Finding:
    calls = [_first("choose_parity", side, "CHOOSE_PARITY_CALL")(bench) for side in (0, 1)]
    moments = [parse_utc(str(call.get("deadline"))) for call in calls]
    if None in moments:
        raise Skip("a deadline is missing or not in UTC")
    first, second = (moment for moment in moments if moment is not None)
    apart = abs((first - second).total_seconds())
    return passed(f"{apart:g} s apart") if apart <= SAME_SECONDS else failed(f"{apart:g} s apart")


def _result_steps() -> list[AnyStep]:
    kind = "GAME_OVER"
    a = _first("notify_match_result", 0, kind)
    game = "Even/Odd: who chose the parity of the drawn number wins; the same choice is a draw."
    return [
        _both("notify_match_result", kind, "Call `notify_match_result` at both players, whatever the result is."),
        *_read_by_league(
            kind,
            a,
            [
                *envelope_steps(kind, a, "referee", lambda bench: bench.agent_id),
                _is(kind, "match_id", a, _of_order("match_id"), HINTS["match_id"]),
            ],
        ),
        Step(
            "both players are told the same result",
            "the same game_result",
            "Send one 'game_result' to both.",
            _same_result,
        ),
        Step(
            f"{kind}: game_result.choices",
            "what both players chose",
            "Put what each player answered into 'choices', by player id.",
            _on_result(lambda _, result: judge_value(result, "choices", {"P01": "even", "P02": "odd"})),
        ),
        Step(
            f"{kind}: game_result.drawn_number",
            "a number from 1 to 10",
            "Draw 'drawn_number' from 1 to 10 with a good source of chance, and send it as a number.",
            _on_result(lambda _, result: _judge_number(result)),
        ),
        Step(
            f"{kind}: game_result.number_parity",
            '"even" or "odd", as the number is',
            '\'number_parity\' is "even" where drawn_number % 2 is 0, else "odd".',
            _on_result(lambda _, result: judge_value(result, "number_parity", parity_of(result))),
        ),
        Step(
            f"{kind}: game_result.winner_player_id",
            "the player whose choice is the parity of the number",
            game,
            _on_result(lambda _, result: judge_value(result, "winner_player_id", winner_of(result))),
        ),
        Step(
            f"{kind}: game_result.status",
            '"WIN"',
            "'status' is WIN, DRAW or TECHNICAL_LOSS, in capitals.",
            _on_result(lambda _, result: judge_value(result, "status", "WIN")),
        ),
        Step(
            "the draw follows from what was promised",
            "the seed whose hash came with the invitation, and the number that follows from it",
            "Reveal in 'draw_seed' the seed whose SHA-256 you sent as 'draw_commitment', and draw from it.",
            _fair,
        ),
    ]


def parity_of(result: Mapping[str, Any]) -> str:
    number = result.get("drawn_number")
    return "odd" if isinstance(number, int) and number % 2 else "even"


def winner_of(result: Mapping[str, Any]) -> str:
    """Return the right winner of the first match, in which P01 chose even and P02 odd."""
    return "P01" if parity_of(result) == "even" else "P02"


def _judge_number(result: Mapping[str, Any]) -> Finding:
    found = judge_kind(result, "drawn_number", int)
    if found.verdict is Verdict.PASS and not 1 <= result["drawn_number"] <= 10:
        return failed(f"'drawn_number' is {result['drawn_number']}")
    return found


def _on_result(judge: Callable[[Any, Mapping[str, Any]], Finding]) -> Callable[[Any], Awaitable[Finding]]:
    async def judged(bench: RefereeBench) -> Finding:
        return judge(bench, _result(bench, "first"))

    return judged


def _result(bench: RefereeBench, name: str) -> Mapping[str, Any]:
    result = bench.played(name).result()
    if result is None:
        raise Skip("player A heard no GAME_OVER with a game_result")
    bench.sent.append(f"nothing: the referee sent game_result {show(result)}")
    return result


async def _same_result(bench: RefereeBench) -> Finding:
    a, b = (bench.played("first").result(side) for side in (0, 1))
    if a is None or b is None:
        raise Skip("not both heard a game_result")
    return passed() if a == b else failed(f"A: {show(a, 250)}, B: {show(b, 250)}")


async def _fair(bench: RefereeBench) -> Finding:
    played = bench.played("first")
    invited = _first("handle_game_invitation", 0, "GAME_INVITATION")(bench)
    if invited.get("draw_commitment") is None:
        raise Skip("the referee promises no seed beforehand; the protocol doesn't demand it")
    over = played.heard("notify_match_result", 0)[0].message
    problem = draw_problem(
        game_type="even_odd",
        parameters=invited.get("game_parameters"),
        players=("P01", "P02"),
        promised=invited["draw_commitment"],
        seed=over.get("draw_seed"),
        result=_result(bench, "first"),
    )
    return passed("seed, promise and number agree") if problem is None else failed(problem)


def _report_steps() -> list[AnyStep]:
    kind = REPORT

    def report(bench: RefereeBench) -> Mapping[str, Any]:
        found = bench.played("first").report
        if found is None:
            raise Skip("no report came")
        bench.sent.append(f"nothing: the referee sent {show(found)}")
        return found

    def find_booking(bench: RefereeBench) -> str | None:
        return find_booking_problem(report(bench), bench.played("first").order, winner_of(_result(bench, "first")))

    async def arrives(bench: RefereeBench) -> Finding:
        played = bench.played("first")
        calls = played.manager.calls("report_match_result", match_id=played.match_id)
        if calls:
            by_name = calls[0].named == "report_match_result"
            return passed("a report") if by_name else warned(f"by {show(calls[0].named or calls[0].frame, 80)}")
        return warned("inside the reply to the order") if played.report else failed("none")

    return [
        Step(
            f"{kind} reaches the manager",
            "a call of `report_match_result`",
            "Call `report_match_result` at the manager once the match is over, and again until it is acknowledged.",
            arrives,
        ),
        *_read_by_league(kind, report, envelope_steps(kind, report, "referee", lambda bench: bench.agent_id)),
        judge_like_league(
            Step(
                f"{kind}: auth_token",
                "the referee's own token from its registration",
                "Put your own 'auth_token' from the registration into the report, else the manager refuses (E011, "
                "E012).",
                on(report, lambda bench, found: judge_value(found, "auth_token", bench.token)),
            ),
            lambda bench: None if bench.played("first").is_report_in_reply else "E011, or E012 for another's token",
        ),
        *_read_by_league(
            kind,
            report,
            [
                _is(kind, name, report, _of_order(name), f"Copy '{name}' from START_MATCH.")
                for name in ("league_id", "round_id", "match_id")
            ],
        ),
        judge_like_league(
            Step(
                f"{kind}: result.winner",
                "the winner whom the players were told",
                "Report the same winner as in GAME_OVER.",
                on(
                    report,
                    lambda bench, found: judge_value(found, "result.winner", winner_of(_result(bench, "first"))),
                ),
            ),
            find_booking,
        ),
        judge_like_league(
            Step(
                f"{kind}: result.score",
                "3 for the winner, 0 for the loser",
                "Report the points in 'result.score', by player id: 3 for a win, 1 for a draw, 0 for a loss.",
                on(report, _judge_score),
            ),
            find_booking,
        ),
    ]


def _judge_score(bench: RefereeBench, found: Mapping[str, Any]) -> Finding:
    winner = winner_of(_result(bench, "first"))
    return judge_value(found, "result.score", {player: 3 if player == winner else 0 for player in ("P01", "P02")})


def _behaviour_steps() -> list[AnyStep]:
    return [
        Step(
            "the same choice is a draw",
            "DRAW, no winner, 1 point each",
            "Where both chose the same, both were right or both wrong: status DRAW, winner null, score 1 and 1.",
            _draws,
        ),
        Step(
            "a player that declines loses technically",
            "TECHNICAL_LOSS, the other player wins",
            LOST.format("declines the invitation"),
            _loses(Behaviour(accept=False)),
        ),
        Step(
            "a choice in the wrong case is told with E004 and asked again",
            "GAME_ERROR E004 to the player, and the question once more",
            'Only "even" and "odd" are choices. Tell the player with GAME_ERROR (E004), and ask again.',
            _asks_again,
        ),
        Step(
            "a player that answers rubbish loses technically",
            "TECHNICAL_LOSS, the other player wins",
            LOST.format("answers three times with what can't be read"),
            _loses(Behaviour(answers=(RUBBISH,))),
        ),
        Step(
            "matches at once are kept apart, and one too many is refused with E016",
            "E016 for the match beyond max_concurrent_matches; the others come to their end",
            "Answer `start_match` with LEAGUE_ERROR E016 while you run as many matches as you registered for.",
            _is_filled,
        ),
        Step(
            "the draw varies, from 1 to 10",
            f"not the same number in {DRAWS} matches",
            "Draw anew in each match; a fixed seed or a constant gives the same number again and again.",
            _varies,
        ),
    ]


async def _ended(bench: RefereeBench, a: Behaviour, b: Behaviour, limit: float | None = None) -> Played:
    played = await bench.start(a, b)
    for _ in range(PATIENCE):
        if played.started.league_code != "E016":
            break
        await asyncio.sleep(0.5)  # it may still be busy with the end of the match before
        played = await bench.start(a, b)
    if not played.started.acknowledged:
        raise Skip(f"the referee did not take the match: {played.started.came}")
    await played.is_over(limit or bench.options.match)
    return played


async def _draws(bench: RefereeBench) -> Finding:
    bench.played("first")
    played = await _ended(bench, Behaviour(), Behaviour())
    result, report = played.result(), played.report
    if result is None:
        return failed(f"no GAME_OVER within {bench.options.match:g} s")
    if (result.get("status"), result.get("winner_player_id")) != ("DRAW", None):
        return failed(show(result))
    if report is None:
        return failed("no report came")
    found = judge_value(report, "result.score", {"P01": 1, "P02": 1})
    if found.verdict is Verdict.PASS:
        return passed("DRAW, 1 and 1")
    problem = find_booking_problem(report, played.order, None)
    return tolerate(found) if problem is None else failed(f"{found.came}. A league books otherwise: {problem}")


def _loses(behaviour: Behaviour, limit: float | None = None) -> Callable[[Any], Awaitable[Finding]]:
    async def judge(bench: RefereeBench) -> Finding:
        bench.played("first")
        played = await _ended(bench, replace(behaviour), Behaviour(answers=("odd",)), limit)
        told = [side for side in (0, 1) if played.heard("notify_match_result", side)]
        result = played.result(1)
        if result is None:
            return failed(f"no GAME_OVER to the other player within {limit or bench.options.match:g} s")
        if (result.get("status"), result.get("winner_player_id")) != ("TECHNICAL_LOSS", "P02"):
            return failed(show(result))
        winner = judge_value(played.report or {}, "result.winner", "P02")
        if winner.verdict is not Verdict.PASS:
            return failed(f"in the report {winner.came}" if played.report else "no report came")
        return passed("TECHNICAL_LOSS") if told == [0, 1] else warned("the loser was not told with GAME_OVER")

    return judge


def _silence_step() -> AnyStep:
    async def judge(bench: RefereeBench) -> Finding:
        release = asyncio.Event()
        try:
            return await _loses(Behaviour(held=release), bench.options.silence)(bench)
        finally:
            release.set()

    return Step(
        "a player that stays silent loses technically",
        "TECHNICAL_LOSS, the other player wins",
        LOST.format("doesn't answer within the limit, three times") + " No match may hang for ever.",
        judge,
    )


async def _asks_again(bench: RefereeBench) -> Finding:
    bench.played("first")
    played = await _ended(bench, Behaviour(answers=("Even", "even")), Behaviour(answers=("odd",)))
    errors = [call.message for call in played.heard("notify_game_error", 0)]
    asked = len(played.heard("choose_parity", 0))
    if asked < 2:
        return failed(f"asked {asked} time(s), and the result is {show(played.result(), 200)}")
    if not errors:
        return warned("asked again, but without a GAME_ERROR")
    found = judge_value(errors[0], "error_code", "E004")
    result = played.result() or {}
    return found if found.verdict is not Verdict.PASS or result.get("status") == "WIN" else failed(show(result))


async def _is_filled(bench: RefereeBench) -> Finding:
    """Judge matches at once; a referee that answers `start_match` only after the match is tolerated."""
    try:
        return await _fills_up(bench)
    except NoReply as error:
        if not error.silent:
            raise
        hint = 'Answer `start_match` with {"status": "ok"} at once, and play the match beside.'
        return tolerate(failed(f"{error.sentence}: it answers an order when the match is over", hint))


async def _fills_up(bench: RefereeBench) -> Finding:
    bench.played("first")
    if bench.max_matches > MANY:
        raise Skip(f"the referee takes {bench.max_matches} matches at once, more than the checker tries")
    release = asyncio.Event()
    if bench.played("first").is_report_in_reply:
        raise Skip("the referee answers an order when the match is over, so that the checker can't fill it up")
    try:
        running = [
            await bench.start(Behaviour(held=release), Behaviour(answers=("odd",))) for _ in range(bench.max_matches)
        ]
        refused = [played.started.came for played in running if not played.started.acknowledged]
        if refused:
            return failed(f"of {bench.max_matches} matches at once one was refused: {refused[0]}")
        extra = None if bench.by_poll else await bench.start(Behaviour(), Behaviour(answers=("odd",)))
    finally:
        release.set()
    over = [await played.is_over(bench.options.match) for played in running]
    bench.matches |= {f"draw-{played.match_id}": played for played in running}
    if not all(over):
        return failed(f"{over.count(False)} of {len(over)} matches never came to their end")
    if extra is None:
        return passed(f"{len(running)} at once; one that fetches its matches is offered no more")
    if extra.started.league_code == "E016":
        return passed(f"{len(running)} at once, E016 for one more")
    if extra.started.acknowledged:
        await extra.is_over(bench.options.match)
        return warned(f"a match beyond max_concurrent_matches ({bench.max_matches}) was taken")
    return warned(extra.started.came)


async def _varies(bench: RefereeBench) -> Finding:
    bench.played("first")
    numbers = []
    for _ in range(DRAWS):
        played = await _ended(bench, Behaviour(), Behaviour(answers=("odd",)))
        numbers.append((played.result() or {}).get("drawn_number"))
    said = ", ".join(map(str, numbers))
    if not all(isinstance(number, int) and 1 <= number <= 10 for number in numbers):
        return failed(said)
    return passed(said) if len(set(numbers)) > 1 else failed(said)


def _order_steps() -> list[AnyStep]:
    return [
        Step(
            "an order that comes twice is played once",
            "acknowledged, and nobody is invited again",
            "A manager repeats START_MATCH when your answer was lost: know the match by match_id, don't begin it anew.",
            _ordered_twice,
        ),
        Step(
            "get_match_state of an unknown match is refused with E007",
            "LEAGUE_ERROR E007",
            "Serve `get_match_state`, and answer an unknown match_id with LEAGUE_ERROR E007.",
            tolerate_all(_unknown_match),
        ),
        Step(
            "an order from a player is refused",
            "LEAGUE_ERROR to a START_MATCH whose sender is not the manager",
            "Check 'sender': only \"league_manager\" may give you a match.",
            tolerate_all(_stranger("player:P66")),
        ),
        Step(
            "an order without the manager's signature is refused",
            "LEAGUE_ERROR E011 to a START_MATCH without the signed token in `Authorization: Bearer`",
            'Anybody can write "sender": "league_manager": check the signed token in `Authorization: Bearer` with '
            "'public_key' from your registration.",
            tolerate_all(_stranger("league_manager")),
        ),
        Step(
            "an order with a missing field is refused",
            "LEAGUE_ERROR E003 that names match_id",
            "Check that START_MATCH has all fields before you begin, and name what is missing (E003).",
            tolerate_all(_incomplete),
        ),
    ]


async def _ordered_twice(bench: RefereeBench) -> Finding:
    played = bench.played("first")
    if bench.by_poll:  # the match was in every list until it was reported
        invited = len(played.heard("handle_game_invitation", 0))
        return passed("not begun again") if invited == 1 else failed("the match was begun again")
    again = await bench.ask("start_match", played.order, bearer=bench.manager_bearer())
    more = await played.players[0].hears("handle_game_invitation", 1, count=2, match_id=played.match_id)
    if len(more) > 1:
        return failed("the match was begun again")
    return passed("acknowledged, not begun again") if again.acknowledged else warned(again.came)


async def _unknown_match(bench: RefereeBench) -> Finding:
    exchange = await bench.ask("get_match_state", {"match_id": "R99M99"}, bearer=bench.manager_bearer())
    if exchange.league_code == "E007":
        return passed("E007")
    return warned(exchange.came) if exchange.refused else failed(exchange.came)


def _stranger(sender: str) -> Callable[[Any], Awaitable[Finding]]:
    async def judge(bench: RefereeBench) -> Finding:
        bench.played("first")
        bench.need_orders()
        order = {**bench.order(bench.next_id()), "sender": sender}
        exchange = await bench.ask("start_match", order)
        if exchange.acknowledged:
            await bench.players[0].hears("notify_match_result", bench.options.match, match_id=order["match_id"])
            return warned("it was acknowledged") if sender == "league_manager" else failed("it was acknowledged")
        return passed(exchange.league_code or "refused") if exchange.refused else failed(exchange.came)

    return judge


async def _incomplete(bench: RefereeBench) -> Finding:
    bench.played("first")
    bench.need_orders()
    order = {name: value for name, value in bench.order("R9M999").items() if name != "match_id"}
    exchange = await bench.ask("start_match", order, bearer=bench.manager_bearer())
    if exchange.league_code == "E003":
        return passed("E003")
    return warned(exchange.came) if exchange.refused else failed(exchange.came)
