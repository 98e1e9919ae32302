"""The steps for a manager's running league: start, rounds, matches, reports, standings, completion."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from agent_league.check.fields import (
    MessageRows,
    find_model_problem,
    get_field,
    take_as_came,
)
from agent_league.check.http_probe import format_redacted
from agent_league.check.listener import IncomingCall
from agent_league.check.manager_subject import ManagerSubject, RegistrationWriter, get_player_ids
from agent_league.check.scripted_agents import MANAGER_SENDER, CheckerPlayer, CheckerReferee, format_now
from agent_league.check.steps import CheckStep, SkipStep, StepFinding, failed, passed, require, warned
from agent_league.check.transport_steps import judge_refusal
from agent_league.protocol.foreign_messages import KnownFacts, complete_message
from agent_league.protocol.version import PROTOCOL_V2

WANTED_PLAYERS = 4
START_SECONDS = 0.5
"""How long a manager has, after each registration, to start the league."""
LEAGUE_SECONDS = 90.0
START_MATCH_SECONDS = 3.0
"""How long it has, after ROUND_ANNOUNCEMENT, to assign a match to a referee."""
LAST_NOTICE_SECONDS = 1.0
"""How long to wait for notices after LEAGUE_COMPLETED."""
ANNOUNCED_FIELDS = ("match_id", "game_type", "player_A_id", "player_B_id", "referee_endpoint")
ManagerStep = CheckStep[ManagerSubject]


def build_rejection_step(what: str, reason: str, write: RegistrationWriter) -> ManagerStep:
    """Build the step on a registration that must be rejected for a reason of the protocol."""

    async def judge(subject: ManagerSubject) -> StepFinding:
        exchange = await subject.send_bad_registration(write)
        answer = exchange.answer or {}
        said = answer.get("reason")
        if answer.get("status") != "REJECTED":
            return warned(exchange.reply_text) if exchange.is_refused else failed(exchange.reply_text)
        return passed(reason) if said == reason else warned(f"REJECTED, but 'reason' is {format_redacted(said, 80)}")

    return CheckStep(
        f"{what} is rejected",
        f'status REJECTED, reason "{reason}", id and token null',
        f'Answer with status "REJECTED" and "reason": "{reason}".',
        judge,
    )


def _make_rows(kind: str, find: Callable[[ManagerSubject], Mapping[str, Any]]) -> MessageRows[ManagerSubject]:
    """Make rows on a notice that fail only if players and referees of ours refuse it."""
    return MessageRows(
        kind, find, find_problem=lambda subject, path: find_notice_problem(kind, find(subject), path, subject)
    )


def find_notice_problem(kind: str, came: Mapping[str, Any], name: str, subject: ManagerSubject) -> str | None:
    """Return why an agent of ours refuses a notice with this field as it came and a right envelope; None if it doesn't.

    Missing fields are completed only for a manager without a public key: one with a key counts as one of ours.
    """
    right = {
        "protocol": PROTOCOL_V2,
        "message_type": kind,
        "sender": MANAGER_SENDER,
        "timestamp": format_now(),
        "conversation_id": "conv-notice",
        "league_id": subject.league_id,
    }
    message = take_as_came({**came, **right}, came, name)
    if not subject.has_public_key:
        player_id = subject.querying_player.player_id
        facts = KnownFacts(format_now(), MANAGER_SENDER, player_id, subject.league_id, round_id=1)
        message, _ = complete_message(kind, message, facts)
    return find_model_problem(message, kind)


def _find_announcement(subject: ManagerSubject) -> Mapping[str, Any]:
    call = subject.querying_player.find_calls("notify_round")[0]
    subject.sent.append(f"nothing: the manager sent {format_redacted(call.body)}")
    return call.message


async def _judge_league_start(subject: ManagerSubject) -> StepFinding:
    """Judge whether the league starts: with the admin token, or once enough agents have registered."""
    asker = subject.querying_player
    subject.sent = []
    for player in subject.list_unregistered_players()[: max(0, WANTED_PLAYERS - len(subject.accepted_players))]:
        await subject.register_player(player)
    if subject.options.admin_token:
        exchange = await subject.ask("start_league", subject.write_start_league(subject.options.admin_token))
        if not exchange.is_acknowledged:
            return failed(exchange.reply_text)
        subject.is_started = bool(await asker.wait_for_calls("notify_round", subject.get_limit("start_league")))
        started = passed("started with the admin token")
        return started if subject.is_started else failed("nobody heard a ROUND_ANNOUNCEMENT")
    waiting: list[CheckerReferee | CheckerPlayer] = [*subject.referees[1:], *subject.list_unregistered_players()]
    while not await asker.wait_for_calls("notify_round", START_SECONDS) and waiting:
        following = waiting.pop(0)
        if isinstance(following, CheckerReferee):
            await subject.register_referee(following)
        else:
            await subject.register_player(following)
    subject.sent = subject.sent[:3]
    subject.is_started = bool(asker.find_calls("notify_round"))
    if not subject.is_started:
        raise SkipStep(
            f"it didn't start with {len(subject.accepted_players)} players and {len(subject.referees)} referees; "
            "the checker can start it with --admin-token-file"
        )
    return passed(f"with {len(subject.accepted_players)} players")


def _build_delivery_step(kind: str, method: str, *, referees: bool = False) -> ManagerStep:
    async def judge(subject: ManagerSubject) -> StepFinding:
        is_over = bool(subject.querying_player.find_calls("notify_league_completed"))
        limit = LAST_NOTICE_SECONDS if is_over else subject.get_limit(method)
        heard = await asyncio.gather(*(player.wait_for_calls(method, limit) for player in subject.accepted_players))
        deaf = [player.player_id for player, calls in zip(subject.accepted_players, heard, strict=True) if not calls]
        if deaf:
            return failed(f"{', '.join(deaf)} heard none")
        registered = [referee for referee in subject.referees if referee.token]
        if referees and not all(await asyncio.gather(*(referee.wait_for_calls(method, 1) for referee in registered))):
            return warned("all players, but not the referees", f"Send {kind} to the referees as well.")
        return passed("everybody")

    who = "all players and referees" if referees else "all players"
    return CheckStep(
        f"{kind} reaches {who}", f"one for each of {who}", f"Call `{method}` at everybody who registered.", judge
    )


def _judge_announced_matches(_: ManagerSubject, found: Mapping[str, Any]) -> StepFinding:
    matches = found.get("matches")
    if not isinstance(matches, list) or not matches:
        return failed(f"'matches' is {format_redacted(matches, 80)}")
    for match in matches:
        missing = [
            name for name in ANNOUNCED_FIELDS if not isinstance(match, dict) or not isinstance(match.get(name), str)
        ]
        if missing:
            return failed(f"missing in a match: {', '.join(missing)}")
    players = [match[side] for match in matches for side in ("player_A_id", "player_B_id")]
    twice = sorted({player for player in players if players.count(player) > 1})
    return failed(f"twice in one round: {', '.join(twice)}") if twice else passed(f"{len(matches)} matches")


_ANNOUNCEMENT = _make_rows("ROUND_ANNOUNCEMENT", _find_announcement)
_START_STEP: ManagerStep = CheckStep(
    "the league starts",
    "ROUND_ANNOUNCEMENT to the players, once enough agents are there",
    "Begin once enough players and referees are there, or on `start_league` with the admin token "
    "(--admin-token-file lets the checker start it).",
    _judge_league_start,
)
_ANNOUNCEMENT_STEPS: tuple[ManagerStep, ...] = (
    _build_delivery_step("ROUND_ANNOUNCEMENT", "notify_round", referees=True),
    *_ANNOUNCEMENT.envelope_rows("league_manager"),
    _ANNOUNCEMENT.value_row("round_id", "1", "Number the rounds from 1, in 'round_id', as a number.", lambda _: 1),
    replace(_ANNOUNCEMENT, find_problem=None).row(
        "matches",
        "a list of matches with match_id, game_type, player_A_id, player_B_id and referee_endpoint",
        "List the matches of the round in 'matches', each with all five fields.",
        _judge_announced_matches,
    ),
)


def _find_order(subject: ManagerSubject) -> Mapping[str, Any]:
    if subject.starts_by_announcement:
        raise SkipStep("the manager sends no START_MATCH")
    referee, match_id = _get_first_match(subject)
    subject.sent.append(f"nothing: the manager sent {format_redacted(referee.orders[match_id])}")
    return referee.orders[match_id]


def _get_first_match(subject: ManagerSubject) -> tuple[CheckerReferee, str]:
    """Return the first match that a referee was assigned; skip the step if there is none."""
    subject.find_open_match()
    for referee in subject.referees:
        for match_id in referee.orders:
            return referee, match_id
    raise SkipStep("no referee was given a match")


async def _judge_start_match(subject: ManagerSubject) -> StepFinding:
    with suppress(TimeoutError):
        async with asyncio.timeout(START_MATCH_SECONDS):
            while subject.find_open_match() is None:  # noqa: ASYNC110 - any of several referees may be given one
                await asyncio.sleep(0.05)
    if subject.find_open_match() is None and any(referee.announced_matches for referee in subject.referees):
        subject.starts_by_announcement = True
        subject.deviations.append("matches begun by ROUND_ANNOUNCEMENT")
        return warned("none, but ROUND_ANNOUNCEMENT names the referee and the players' addresses")
    found = subject.find_open_match()
    return passed(found[1]) if found else failed("no referee was given a match")


def _judge_order_players(subject: ManagerSubject, order: Mapping[str, Any]) -> StepFinding:
    for side in ("player_A", "player_B"):
        told = order.get(side)
        nested: Mapping[str, Any] = told if isinstance(told, dict) else {}
        player_id = nested.get("player_id") or order.get(f"{side}_id")
        endpoint = nested.get("endpoint") or order.get(f"{side}_endpoint")
        if player_id not in subject.player_ids:
            return failed(f"{side}: player_id is {format_redacted(player_id, 80)}")
        if endpoint not in [player.endpoint for player in subject.accepted_players]:
            return failed(f"{side}: endpoint is {format_redacted(endpoint, 80)}")
    return passed()


async def _judge_report_token(subject: ManagerSubject, token: str | None, code: str) -> StepFinding:
    referee, match_id = _get_first_match(subject)
    winner = get_player_ids(referee.orders[match_id])[1]
    report = subject.write_order_report(referee, match_id, winner, auth_token=token)
    return judge_refusal(await subject.ask("report_match_result", report), code)


async def _judge_wrong_winner(subject: ManagerSubject) -> StepFinding:
    referee, match_id = _get_first_match(subject)
    report = subject.write_order_report(referee, match_id, get_player_ids(referee.orders[match_id])[0])
    report = {**report, "result": {**report["result"], "winner": "P98", "score": {"P98": 3}, "details": {}}}
    return judge_refusal(await subject.ask("report_match_result", report), "E002")


async def _judge_right_report(subject: ManagerSubject) -> StepFinding:
    referee, match_id = _get_first_match(subject)
    exchange = await subject.send_report(referee, match_id, get_player_ids(referee.orders[match_id])[0])
    return passed("acknowledged") if exchange.is_acknowledged else failed(exchange.reply_text)


async def _judge_repeated_report(subject: ManagerSubject) -> StepFinding:
    referee, match_id = _get_reported_match(subject)
    exchange = await subject.send_report(referee, match_id, subject.results[match_id][2])
    return passed("acknowledged") if exchange.is_acknowledged else warned(exchange.reply_text)


async def _judge_other_result(subject: ManagerSubject) -> StepFinding:
    referee, match_id = _get_reported_match(subject)
    other = subject.write_order_report(referee, match_id, get_player_ids(referee.orders[match_id])[1])
    return judge_refusal(await subject.ask("report_match_result", other), "E002")


def _get_reported_match(subject: ManagerSubject) -> tuple[CheckerReferee, str]:
    referee, match_id = _get_first_match(subject)
    if match_id not in subject.results:
        raise SkipStep("no report was taken")
    return referee, match_id


_TYPED = "there, and of its type"
_OWN_REPORT_HINT = "Take a result only from the referee to whom you gave the match, with its own token."
_ORDER = _make_rows("START_MATCH", _find_order)
_MATCH_STEPS: tuple[ManagerStep, ...] = (
    CheckStep(
        "START_MATCH reaches a referee",
        "a call of `start_match`",
        "Give each match to a referee with `start_match`.",
        _judge_start_match,
    ),
    *_ORDER.envelope_rows("league_manager"),
    _ORDER.type_row("round_id", _TYPED, "Put the number of the round into START_MATCH.", int),
    _ORDER.type_row("match_id", _TYPED, "Put 'match_id' into START_MATCH."),
    _ORDER.type_row("game_type", _TYPED, "Put 'game_type' into START_MATCH."),
    replace(_ORDER, find_problem=None).row(
        "both players",
        "player_id and endpoint of player_A and player_B",
        "Tell the referee id and endpoint of both players: it asks nobody for an address.",
        _judge_order_players,
    ),
    CheckStep(
        "a report with a wrong token is refused",
        "LEAGUE_ERROR E012",
        _OWN_REPORT_HINT,
        partial(_judge_report_token, token="tok-ref01-made-up", code="E012"),  # noqa: S106 - a wrong one
    ),
    CheckStep(
        "a report without a token is refused",
        "LEAGUE_ERROR E011",
        _OWN_REPORT_HINT,
        partial(_judge_report_token, token=None, code="E011"),
    ),
    CheckStep(
        "a winner who doesn't play in the match is refused",
        "LEAGUE_ERROR E002",
        "Check that 'result.winner' is one of the two players, or null.",
        _judge_wrong_winner,
    ),
    CheckStep(
        "the right report is acknowledged",
        '{"status": "ok"}',
        "Serve `report_match_result` and take the report of the referee to whom you gave the match.",
        _judge_right_report,
    ),
    CheckStep(
        "the same report again changes nothing",
        "acknowledged once more",
        "A referee repeats its report when your answer was lost: acknowledge it, and count it once.",
        _judge_repeated_report,
    ),
    CheckStep(
        "another result for the same match is refused",
        "LEAGUE_ERROR E002",
        "The first result stands: refuse a different one for a finished match with E002.",
        _judge_other_result,
    ),
)


async def _judge_whole_league(subject: ManagerSubject) -> StepFinding:
    """Report every match until LEAGUE_COMPLETED comes: player A wins, and every third match is a draw."""
    deadline = time.monotonic() + LEAGUE_SECONDS
    while time.monotonic() < deadline:
        found = subject.find_open_match()
        if found is None:
            if await subject.querying_player.wait_for_calls("notify_league_completed", 0.1):
                return passed(f"{len(subject.results)} matches")
            continue
        referee, match_id = found
        winner = None if len(subject.results) % 3 == 2 else get_player_ids(referee.orders[match_id])[0]
        exchange = await subject.send_report(referee, match_id, winner)
        subject.sent = subject.sent[-1:]
        if not exchange.is_acknowledged:
            return failed(f"the report of {match_id} was refused: {exchange.reply_text}", ends=True)
    return failed(f"no LEAGUE_COMPLETED within {LEAGUE_SECONDS:g} s; {len(subject.results)} matches were reported")


def _judge_pairings(subject: ManagerSubject) -> StepFinding:
    _get_league_completed(subject)
    pairs = [frozenset(score) for _, score, _ in subject.results.values()]
    players = len(subject.player_ids)
    wanted = players * (players - 1) // 2
    twice = [pair for pair in set(pairs) if pairs.count(pair) > 1]
    if twice:
        return failed(f"more than once: {' - '.join(sorted(twice[0]))}")
    return passed(f"{wanted} matches") if len(pairs) == wanted else failed(f"{len(pairs)} matches, expected {wanted}")


def _get_league_completed(subject: ManagerSubject) -> IncomingCall:
    calls = subject.querying_player.find_calls("notify_league_completed")
    if not calls:
        raise SkipStep("the league did not come to its end")
    return calls[0]


def count_points(subject: ManagerSubject, round_id: int) -> dict[str, int]:
    """Count the points that every player must have after a round, by the reports."""
    points = dict.fromkeys(subject.player_ids, 0)
    for number, score, _ in subject.results.values():
        for player, won in score.items():
            points[player] = points.get(player, 0) + (won if number <= round_id else 0)
    return points


def _judge_standings(subject: ManagerSubject) -> StepFinding:
    _get_league_completed(subject)
    updates = subject.querying_player.find_calls("update_standings")
    if not updates:
        raise SkipStep("no LEAGUE_STANDINGS_UPDATE came")
    for call in updates:
        rows = call.message.get("standings")
        told = {row.get("player_id"): row.get("points") for row in rows or [] if isinstance(row, dict)}
        wanted = count_points(subject, int(call.message.get("round_id") or 0))
        if told != wanted:
            return failed(
                f"after round {call.message.get('round_id')}: {format_redacted(told, 200)}, expected "
                f"{format_redacted(wanted, 200)}"
            )
    return passed(f"{len(updates)} tables")


def _judge_round_count(subject: ManagerSubject) -> StepFinding:
    _get_league_completed(subject)
    calls = subject.querying_player.find_calls("notify_round_completed")
    if not calls:
        raise SkipStep("no ROUND_COMPLETED came")
    message = calls[0].message
    subject.sent.append(f"nothing: the manager sent {format_redacted(calls[0].body)}")
    wanted = sum(number == message.get("round_id") for number, *_ in subject.results.values())
    told = message.get("matches_completed", message.get("matches_played"))
    return passed(str(told)) if told == wanted else failed(f"{format_redacted(told, 40)}, expected {wanted}")


_ROUND_STEPS: tuple[ManagerStep, ...] = (
    CheckStep(
        "the league is played to its end",
        "START_MATCH for every match, and LEAGUE_COMPLETED",
        "Go on with the next round once all matches of a round are reported; after the last one tell everybody.",
        _judge_whole_league,
    ),
    CheckStep(
        "every pair meets once",
        "each pair of players exactly once",
        "A round robin: n players, n(n-1)/2 matches, each pair once.",
        _judge_pairings,
    ),
    _build_delivery_step("LEAGUE_STANDINGS_UPDATE", "update_standings"),
    CheckStep(
        "the standings are right after each round",
        "3 points for a win, 1 for a draw, 0 for a loss, as reported",
        "Count 3, 1 and 0 points; 'standings' has rank, played, wins, draws, losses and points of every player.",
        _judge_standings,
    ),
    _build_delivery_step("ROUND_COMPLETED", "notify_round_completed"),
    CheckStep(
        "ROUND_COMPLETED counts the matches",
        "matches_completed or matches_played: the matches of the round",
        "Put the number of matches of the round into 'matches_completed'.",
        _judge_round_count,
    ),
)


def _find_completion(subject: ManagerSubject) -> Mapping[str, Any]:
    call = _get_league_completed(subject)
    subject.sent.append(f"nothing: the manager sent {format_redacted(call.body)}")
    return call.message


def _judge_champion(subject: ManagerSubject, found: Mapping[str, Any]) -> StepFinding:
    points = count_points(subject, len(subject.results))
    champion, most = get_field(found, "champion.player_id"), max(points.values())
    if points.get(str(champion)) == most and get_field(found, "champion.points") == most:
        return passed(f"{champion} with {most}")
    return failed(f"{format_redacted(found.get('champion'), 120)}, expected {most} points")


def _judge_final_standings(subject: ManagerSubject, found: Mapping[str, Any]) -> StepFinding:
    rows = [row for row in found.get("final_standings") or [] if isinstance(row, dict)]
    told = {row.get("player_id"): row.get("points") for row in rows}
    wanted = count_points(subject, len(subject.results))
    if told != wanted:
        return failed(f"{format_redacted(told, 200)}, expected {format_redacted(wanted, 200)}")
    order = [wanted[str(row["player_id"])] for row in rows]
    is_sorted = order == sorted(order, reverse=True)
    return passed(f"{len(rows)} players") if is_sorted else failed(f"not best first: {order}")


_COMPLETION = _make_rows("LEAGUE_COMPLETED", _find_completion)
_STRICT_COMPLETION = replace(_COMPLETION, find_problem=None)
_END_STEPS: tuple[ManagerStep, ...] = (
    _build_delivery_step("LEAGUE_COMPLETED", "notify_league_completed", referees=True),
    *_COMPLETION.envelope_rows("league_manager"),
    _STRICT_COMPLETION.row(
        "champion",
        "a player with the most points",
        "The champion is the first of the final standings: put player_id and points into 'champion'.",
        _judge_champion,
    ),
    _STRICT_COMPLETION.row(
        "final_standings",
        "every player with its points, best first",
        "List every player with rank, player_id and points in 'final_standings'.",
        _judge_final_standings,
    ),
    _STRICT_COMPLETION.value_row(
        "total_matches",
        "the number of matches",
        "Put the number of matches that were played into 'total_matches'.",
        lambda subject: len(subject.results),
    ),
    build_rejection_step("a registration after the end", "Registration closed", ManagerSubject.write_player_request),
)
LEAGUE_STEPS: tuple[ManagerStep, ...] = (
    _START_STEP,
    *require(ManagerSubject.require_started, *_ANNOUNCEMENT_STEPS, *_MATCH_STEPS, *_ROUND_STEPS, *_END_STEPS),
)
"""The steps from the start of the league to its completion."""
