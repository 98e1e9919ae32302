"""The steps for a manager's running league: start, rounds, matches, reports, standings, completion."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from agent_league.check.expected_refusals import judge_refusal, rejected_step
from agent_league.check.fields import envelope_steps, judge_kind, judge_value, look_up, on
from agent_league.check.http_probe import show
from agent_league.check.listener import Incoming
from agent_league.check.manager_readings import find_notice_problem
from agent_league.check.manager_subject import ManagerBench, players_of
from agent_league.check.scripted_agents import StandInPlayer, StandInReferee
from agent_league.check.steps import AnyStep, Finding, Skip, Step, failed, judge_like_league, passed, warned

PLAYERS = 4
START_SECONDS = 0.5
"""How long a manager has, after each registration, to start the league."""
LEAGUE_SECONDS = 90.0
START_MATCH_SECONDS = 3.0
"""How long it has, after ROUND_ANNOUNCEMENT, to assign a match to a referee."""
PAST_SECONDS = 1.0
"""How long to wait for notices after LEAGUE_COMPLETED."""


def league_steps() -> list[AnyStep]:
    """Build the steps from the start of the league to its completion."""
    return [*_start_steps(), *_match_steps(), *_round_steps(), *_end_steps()]


def _start_steps() -> list[AnyStep]:
    kind = "ROUND_ANNOUNCEMENT"

    def announced(bench: ManagerBench) -> Mapping[str, Any]:
        bench.must_run()
        call = bench.asker.calls("notify_round")[0]
        bench.sent.append(f"nothing: the manager sent {show(call.body)}")
        return call.message

    return [
        Step(
            "the league starts",
            f"{kind} to the players, once enough agents are there",
            "Begin once enough players and referees are there, or on `start_league` with the admin token "
            "(--admin-token-file lets the checker start it).",
            _starts,
        ),
        _everybody(kind, "notify_round", referees=True),
        *_read_by_agents(
            kind,
            announced,
            [
                *envelope_steps(kind, announced, "league_manager", lambda _: None),
                Step(
                    f"{kind}: round_id",
                    "1",
                    "Number the rounds from 1, in 'round_id', as a number.",
                    on(announced, lambda _, found: judge_value(found, "round_id", 1)),
                ),
            ],
        ),
        Step(
            f"{kind}: matches",
            "a list of matches with match_id, game_type, player_A_id, player_B_id and referee_endpoint",
            "List the matches of the round in 'matches', each with all five fields.",
            on(announced, lambda _, found: _judge_matches(found)),
        ),
    ]


def _read_by_agents(kind: str, find: Callable[[Any], Mapping[str, Any]], steps: Sequence[AnyStep]) -> Iterator[AnyStep]:
    """Make steps on fields of a notice fail only if players and referees of ours refuse such a notice."""
    for step in steps:
        name = step.name.partition(": ")[2].partition(" ")[0]
        yield judge_like_league(step, partial(_find_problem, kind, find, name))


def _find_problem(kind: str, find: Callable[[Any], Mapping[str, Any]], name: str, bench: ManagerBench) -> str | None:
    return find_notice_problem(kind, find(bench), name, bench.asker.player_id, bench.league_id, has_key=bench.has_key)


async def _starts(bench: ManagerBench) -> Finding:
    """Judge whether the league starts: with the admin token, or once enough agents have registered."""
    if not bench.admitted:
        raise Skip("no player was admitted")
    bench.sent = []
    for player in bench.unused()[: max(0, PLAYERS - len(bench.admitted))]:
        await bench.admit(player)
    if bench.options.admin_token:
        exchange = await bench.ask("start_league", bench.start_message(bench.options.admin_token))
        if not exchange.acknowledged:
            return failed(exchange.came)
        bench.started = bool(await bench.asker.hears("notify_round", bench.limit("start_league")))
        return passed("started with the admin token") if bench.started else failed("nobody heard a ROUND_ANNOUNCEMENT")
    waiting: list[StandInReferee | StandInPlayer] = [*bench.referees[1:], *bench.unused()]
    while not await bench.asker.hears("notify_round", START_SECONDS) and waiting:
        following = waiting.pop(0)
        if isinstance(following, StandInReferee):
            await bench.admit_referee(following)
        else:
            await bench.admit(following)
    bench.sent = bench.sent[:3]
    bench.started = bool(bench.asker.calls("notify_round"))
    if not bench.started:
        raise Skip(
            f"it didn't start with {len(bench.admitted)} players and {len(bench.referees)} referees; "
            "the checker can start it with --admin-token-file"
        )
    return passed(f"with {len(bench.admitted)} players")


def _everybody(kind: str, method: str, *, referees: bool = False) -> AnyStep:
    async def judge(bench: ManagerBench) -> Finding:
        bench.must_run()
        limit = PAST_SECONDS if bench.asker.calls("notify_league_completed") else bench.limit(method)
        heard = await asyncio.gather(*(player.hears(method, limit) for player in bench.admitted))
        deaf = [player.player_id for player, calls in zip(bench.admitted, heard, strict=True) if not calls]
        if deaf:
            return failed(f"{', '.join(deaf)} heard none")
        registered = [referee for referee in bench.referees if referee.token]
        if referees and not all(await asyncio.gather(*(referee.hears(method, 1) for referee in registered))):
            return warned("all players, but not the referees", f"Send {kind} to the referees as well.")
        return passed("everybody")

    who = "all players and referees" if referees else "all players"
    return Step(
        f"{kind} reaches {who}", f"one for each of {who}", f"Call `{method}` at everybody who registered.", judge
    )


def _judge_matches(found: Mapping[str, Any]) -> Finding:
    matches = found.get("matches")
    if not isinstance(matches, list) or not matches:
        return failed(f"'matches' is {show(matches, 80)}")
    needed = ("match_id", "game_type", "player_A_id", "player_B_id", "referee_endpoint")
    for match in matches:
        missing = [name for name in needed if not isinstance(match, dict) or not isinstance(match.get(name), str)]
        if missing:
            return failed(f"missing in a match: {', '.join(missing)}")
    players = [match[side] for match in matches for side in ("player_A_id", "player_B_id")]
    twice = sorted({player for player in players if players.count(player) > 1})
    return failed(f"twice in one round: {', '.join(twice)}") if twice else passed(f"{len(matches)} matches")


def _match_steps() -> list[AnyStep]:
    kind = "START_MATCH"
    own = "Take a result only from the referee to whom you gave the match, with its own token."

    def order(bench: ManagerBench) -> Mapping[str, Any]:
        bench.must_run()
        if bench.by_announcement:
            raise Skip("the manager sends no START_MATCH")
        referee, match_id = _first(bench)
        bench.sent.append(f"nothing: the manager sent {show(referee.orders[match_id])}")
        return referee.orders[match_id]

    def field(path: str, type_: type, hint: str) -> AnyStep:
        return Step(
            f"{kind}: {path}",
            "there, and of its type",
            hint,
            on(order, lambda _, found: judge_kind(found, path, type_)),
        )

    return [
        Step(
            f"{kind} reaches a referee",
            "a call of `start_match`",
            "Give each match to a referee with `start_match`.",
            _gives,
        ),
        *_read_by_agents(
            kind,
            order,
            [
                *envelope_steps(kind, order, "league_manager", lambda _: None),
                field("round_id", int, "Put the number of the round into START_MATCH."),
                field("match_id", str, "Put 'match_id' into START_MATCH."),
                field("game_type", str, "Put 'game_type' into START_MATCH."),
            ],
        ),
        Step(
            f"{kind}: both players",
            "player_id and endpoint of player_A and player_B",
            "Tell the referee id and endpoint of both players: it asks nobody for an address.",
            on(order, _judge_players),
        ),
        Step(
            "a report with a wrong token is refused",
            "LEAGUE_ERROR E012",
            own,
            _reports_with("tok-ref01-made-up", "E012"),
        ),
        Step("a report without a token is refused", "LEAGUE_ERROR E011", own, _reports_with(None, "E011")),
        Step(
            "a winner who doesn't play in the match is refused",
            "LEAGUE_ERROR E002",
            "Check that 'result.winner' is one of the two players, or null.",
            _wrong_winner,
        ),
        Step(
            "the right report is acknowledged",
            '{"status": "ok"}',
            "Serve `report_match_result` and take the report of the referee to whom you gave the match.",
            _right_report,
        ),
        Step(
            "the same report again changes nothing",
            "acknowledged once more",
            "A referee repeats its report when your answer was lost: acknowledge it, and count it once.",
            _same_report,
        ),
        Step(
            "another result for the same match is refused",
            "LEAGUE_ERROR E002",
            "The first result stands: refuse a different one for a finished match with E002.",
            _other_result,
        ),
    ]


def _first(bench: ManagerBench) -> tuple[StandInReferee, str]:
    """Return the first match that a referee was assigned; skip the step if there is none."""
    bench.open_match()
    for referee in bench.referees:
        for match_id in referee.orders:
            return referee, match_id
    raise Skip("no referee was given a match")


async def _gives(bench: ManagerBench) -> Finding:
    bench.must_run()
    with suppress(TimeoutError):
        async with asyncio.timeout(START_MATCH_SECONDS):
            while bench.open_match() is None:  # noqa: ASYNC110 - any of several referees may be given one
                await asyncio.sleep(0.05)
    if bench.open_match() is None and any(referee.announced for referee in bench.referees):
        bench.by_announcement = True
        bench.noted.append("matches begun by ROUND_ANNOUNCEMENT")
        return warned("none, but ROUND_ANNOUNCEMENT names the referee and the players' addresses")
    found = bench.open_match()
    return passed(found[1]) if found else failed("no referee was given a match")


def _judge_players(bench: ManagerBench, order: Mapping[str, Any]) -> Finding:
    for side in ("player_A", "player_B"):
        nested = order.get(side) if isinstance(order.get(side), dict) else {}
        player_id = (nested or {}).get("player_id") or order.get(f"{side}_id")
        endpoint = (nested or {}).get("endpoint") or order.get(f"{side}_endpoint")
        if player_id not in bench.ids:
            return failed(f"{side}: player_id is {show(player_id, 80)}")
        if endpoint not in [player.endpoint for player in bench.admitted]:
            return failed(f"{side}: endpoint is {show(endpoint, 80)}")
    return passed()


def _reports_with(token: str | None, code: str) -> Callable[[Any], Awaitable[Finding]]:
    async def judge(bench: ManagerBench) -> Finding:
        bench.must_run()
        referee, match_id = _first(bench)
        report = bench.report(referee, match_id, players_of(referee.orders[match_id])[1], auth_token=token)
        return judge_refusal(await bench.ask("report_match_result", report), code)

    return judge


async def _wrong_winner(bench: ManagerBench) -> Finding:
    bench.must_run()
    referee, match_id = _first(bench)
    report = bench.report(referee, match_id, players_of(referee.orders[match_id])[0])
    report = {**report, "result": {**report["result"], "winner": "P98", "score": {"P98": 3}, "details": {}}}
    return judge_refusal(await bench.ask("report_match_result", report), "E002")


async def _right_report(bench: ManagerBench) -> Finding:
    bench.must_run()
    referee, match_id = _first(bench)
    exchange = await bench.send_report(referee, match_id, players_of(referee.orders[match_id])[0])
    return passed("acknowledged") if exchange.acknowledged else failed(exchange.came)


async def _same_report(bench: ManagerBench) -> Finding:
    referee, match_id = _reported(bench)
    exchange = await bench.send_report(referee, match_id, bench.results[match_id][2])
    return passed("acknowledged") if exchange.acknowledged else warned(exchange.came)


async def _other_result(bench: ManagerBench) -> Finding:
    referee, match_id = _reported(bench)
    other = bench.report(referee, match_id, players_of(referee.orders[match_id])[1])
    return judge_refusal(await bench.ask("report_match_result", other), "E002")


def _reported(bench: ManagerBench) -> tuple[StandInReferee, str]:
    bench.must_run()
    referee, match_id = _first(bench)
    if match_id not in bench.results:
        raise Skip("no report was taken")
    return referee, match_id


def _round_steps() -> list[AnyStep]:
    return [
        Step(
            "the league is played to its end",
            "START_MATCH for every match, and LEAGUE_COMPLETED",
            "Go on with the next round once all matches of a round are reported; after the last one tell everybody.",
            _plays,
        ),
        Step(
            "every pair meets once",
            "each pair of players exactly once",
            "A round robin: n players, n(n-1)/2 matches, each pair once.",
            _every_pair,
        ),
        _everybody("LEAGUE_STANDINGS_UPDATE", "update_standings"),
        Step(
            "the standings are right after each round",
            "3 points for a win, 1 for a draw, 0 for a loss, as reported",
            "Count 3, 1 and 0 points; 'standings' has rank, played, wins, draws, losses and points of every player.",
            _standings,
        ),
        _everybody("ROUND_COMPLETED", "notify_round_completed"),
        Step(
            "ROUND_COMPLETED counts the matches",
            "matches_completed or matches_played: the matches of the round",
            "Put the number of matches of the round into 'matches_completed'.",
            _round_count,
        ),
    ]


async def _plays(bench: ManagerBench) -> Finding:
    """Report every match until LEAGUE_COMPLETED comes: player A wins, and every third match is a draw."""
    bench.must_run()
    deadline = time.monotonic() + LEAGUE_SECONDS
    while time.monotonic() < deadline:
        found = bench.open_match()
        if found is None:
            if await bench.asker.hears("notify_league_completed", 0.1):
                return passed(f"{len(bench.results)} matches")
            continue
        referee, match_id = found
        winner = None if len(bench.results) % 3 == 2 else players_of(referee.orders[match_id])[0]
        exchange = await bench.send_report(referee, match_id, winner)
        bench.sent = bench.sent[-1:]
        if not exchange.acknowledged:
            return failed(f"the report of {match_id} was refused: {exchange.came}", ends=True)
    return failed(f"no LEAGUE_COMPLETED within {LEAGUE_SECONDS:g} s; {len(bench.results)} matches were reported")


async def _every_pair(bench: ManagerBench) -> Finding:
    _must_be_over(bench)
    pairs = [frozenset(score) for _, score, _ in bench.results.values()]
    players = len(bench.ids)
    wanted = players * (players - 1) // 2
    twice = [pair for pair in set(pairs) if pairs.count(pair) > 1]
    if twice:
        return failed(f"more than once: {' - '.join(sorted(twice[0]))}")
    return passed(f"{wanted} matches") if len(pairs) == wanted else failed(f"{len(pairs)} matches, expected {wanted}")


def _must_be_over(bench: ManagerBench) -> Incoming:
    bench.must_run()
    calls = bench.asker.calls("notify_league_completed")
    if not calls:
        raise Skip("the league did not come to its end")
    return calls[0]


def points_after(bench: ManagerBench, round_id: int) -> dict[str, int]:
    """Count the points that every player must have after a round, by the reports."""
    points = dict.fromkeys(bench.ids, 0)
    for number, score, _ in bench.results.values():
        for player, won in score.items():
            points[player] = points.get(player, 0) + (won if number <= round_id else 0)
    return points


async def _standings(bench: ManagerBench) -> Finding:
    _must_be_over(bench)
    updates = bench.asker.calls("update_standings")
    if not updates:
        raise Skip("no LEAGUE_STANDINGS_UPDATE came")
    for call in updates:
        rows = call.message.get("standings")
        told = {row.get("player_id"): row.get("points") for row in rows or [] if isinstance(row, dict)}
        wanted = points_after(bench, int(call.message.get("round_id") or 0))
        if told != wanted:
            return failed(
                f"after round {call.message.get('round_id')}: {show(told, 200)}, expected {show(wanted, 200)}"
            )
    return passed(f"{len(updates)} tables")


async def _round_count(bench: ManagerBench) -> Finding:
    _must_be_over(bench)
    calls = bench.asker.calls("notify_round_completed")
    if not calls:
        raise Skip("no ROUND_COMPLETED came")
    message = calls[0].message
    bench.sent.append(f"nothing: the manager sent {show(calls[0].body)}")
    wanted = sum(number == message.get("round_id") for number, *_ in bench.results.values())
    told = message.get("matches_completed", message.get("matches_played"))
    return passed(str(told)) if told == wanted else failed(f"{show(told, 40)}, expected {wanted}")


def _end_steps() -> list[AnyStep]:
    def completed(bench: ManagerBench) -> Mapping[str, Any]:
        call = _must_be_over(bench)
        bench.sent.append(f"nothing: the manager sent {show(call.body)}")
        return call.message

    kind = "LEAGUE_COMPLETED"
    return [
        _everybody(kind, "notify_league_completed", referees=True),
        *_read_by_agents(kind, completed, envelope_steps(kind, completed, "league_manager", lambda _: None)),
        Step(
            f"{kind}: champion",
            "a player with the most points",
            "The champion is the first of the final standings: put player_id and points into 'champion'.",
            on(completed, _judge_champion),
        ),
        Step(
            f"{kind}: final_standings",
            "every player with its points, best first",
            "List every player with rank, player_id and points in 'final_standings'.",
            on(completed, _judge_final),
        ),
        Step(
            f"{kind}: total_matches",
            "the number of matches",
            "Put the number of matches that were played into 'total_matches'.",
            on(completed, lambda bench, found: judge_value(found, "total_matches", len(bench.results))),
        ),
        rejected_step("a registration after the end", "Registration closed", _late),
    ]


def _late(bench: ManagerBench, player: StandInPlayer) -> Mapping[str, Any]:
    bench.must_run()
    return bench.player_request(player)


def _judge_champion(bench: ManagerBench, found: Mapping[str, Any]) -> Finding:
    points = points_after(bench, len(bench.results))
    champion, most = look_up(found, "champion.player_id"), max(points.values())
    if points.get(str(champion)) == most and look_up(found, "champion.points") == most:
        return passed(f"{champion} with {most}")
    return failed(f"{show(found.get('champion'), 120)}, expected {most} points")


def _judge_final(bench: ManagerBench, found: Mapping[str, Any]) -> Finding:
    rows = [row for row in found.get("final_standings") or [] if isinstance(row, dict)]
    told = {row.get("player_id"): row.get("points") for row in rows}
    wanted = points_after(bench, len(bench.results))
    if told != wanted:
        return failed(f"{show(told, 200)}, expected {show(wanted, 200)}")
    order = [wanted[str(row["player_id"])] for row in rows]
    return (
        passed(f"{len(rows)} players") if order == sorted(order, reverse=True) else failed(f"not best first: {order}")
    )
