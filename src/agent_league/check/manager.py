"""The steps for a manager: the checker plays its referees and all its players, which uses up the manager's league."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from agent_league.check.fields import FIELD_HINTS, MessageRows, get_field, judge_type
from agent_league.check.http_probe import format_redacted
from agent_league.check.manager_league import LEAGUE_STEPS, build_rejection_step
from agent_league.check.manager_subject import ManagerSubject, RegistrationWriter
from agent_league.check.scripted_agents import CheckerPlayer
from agent_league.check.steps import (
    CheckStep,
    Severity,
    SkipStep,
    StepFinding,
    StepVerdict,
    failed,
    passed,
    warned,
)
from agent_league.check.transport_steps import HOSTILE_STEPS, JSON_RPC_STEPS, SERVER_STEPS, judge_refusal

MIN_TOKEN_LENGTH = 16
QUERY_ANSWER = "LEAGUE_QUERY_RESPONSE"
ManagerStep = CheckStep[ManagerSubject]


def build_manager_steps() -> list[ManagerStep]:
    """Build all steps in order; the league is started last."""
    return [
        *SERVER_STEPS,
        *_build_registration_steps("referee"),
        *_build_registration_steps("player"),
        *REGISTRATION_RULE_STEPS,
        *QUERY_STEPS,
        *AUTHORIZATION_STEPS,
        *JSON_RPC_STEPS,
        *HOSTILE_STEPS,
        *LEAGUE_STEPS,
    ]


def _make_rows(name: str, kind: str) -> MessageRows[ManagerSubject]:
    """Make rows on the answer in an earlier exchange."""
    return MessageRows(kind, lambda subject: subject.require_exchange(name, kind).answer or {})


def _build_registration_steps(role: str) -> list[ManagerStep]:
    """Build the steps on a registration and on each field of its answer."""
    kind = "LEAGUE_REGISTER_RESPONSE" if role == "player" else "REFEREE_REGISTER_RESPONSE"
    method = f"register_{role}"
    rows = _make_rows(method, kind)
    tolerated = replace(rows, severity=Severity.TOLERATED)
    return [
        CheckStep(
            f"{method} is accepted",
            f"a {kind} with the status ACCEPTED",
            f"Serve the method `{method}`.",
            partial(_judge_registration, method=method),
        ),
        *tolerated.envelope_rows("league_manager"),
        tolerated.value_row(
            "conversation_id",
            "the one of the request",
            FIELD_HINTS["conversation_id"],
            lambda subject: subject.exchanges[method].message["conversation_id"],
        ),
        rows.type_row(f"{role}_id", "a string", f"Give each {role} an id of its own in '{role}_id'."),
        tolerated.type_row("league_id", "a string", "Put the id of your league into 'league_id'."),
        rows.row(
            "auth_token",
            f"a token of at least {MIN_TOKEN_LENGTH} letters",
            "Give each agent a long random token in 'auth_token' (secrets.token_hex(32)): whoever guesses it can act "
            "in its name.",
            _judge_new_token,
        ),
        rows.row(
            "reason",
            "null",
            'Put "reason": null into the answer to an agent that you accept.',
            lambda _, found: passed("null") if found.get("reason", "") is None else warned("not null"),
        ),
    ]


async def _judge_registration(subject: ManagerSubject, method: str) -> StepFinding:
    if method == "register_player":
        exchange = await subject.register_player(subject.players[0])
    else:
        exchange = await subject.register_referee(subject.referees[0])
    answer = subject.store_exchange(method, exchange).answer
    if answer is not None and answer.get("status") == "ACCEPTED":
        form = subject.call_forms[method]
        return passed("ACCEPTED") if form.name == "seeds" else warned(f"only in another form: {form.description}")
    hint = f"The agent doesn't know the method `{method}`: name it exactly so." if exchange.is_unknown_method else ""
    if answer is not None:
        hint = "The manager rejects a good registration: is its league still open?"
    return failed(exchange.reply_text, hint, ends=True)


def _judge_new_token(_: ManagerSubject, answer: Mapping[str, Any]) -> StepFinding:
    found = judge_type(answer, "auth_token", str)
    if found.verdict is StepVerdict.PASS and len(answer["auth_token"]) < MIN_TOKEN_LENGTH:
        return warned(f"{len(answer['auth_token'])} letters")
    return found


async def _judge_second_player(subject: ManagerSubject) -> StepFinding:
    first, second = subject.querying_player, subject.players[1]
    before = (first.player_id, first.token)
    exchange = await subject.register_player(second)
    if second not in subject.accepted_players:
        return failed(exchange.reply_text)
    if second.player_id == before[0]:
        return failed(f"the same player_id: {second.player_id}")
    return failed("the same auth_token") if second.token == before[1] else passed(f"{before[0]} and {second.player_id}")


async def _judge_second_registration(subject: ManagerSubject) -> StepFinding:
    player = subject.querying_player
    request = {**subject.write_player_request(player), "auth_token": player.token}
    exchange = await subject.ask("register_player", request, wanted="LEAGUE_REGISTER_RESPONSE")
    answer = exchange.answer or {}
    if answer.get("status") != "ACCEPTED":
        return warned(exchange.reply_text)
    if answer.get("player_id") != player.player_id:
        subject.player_ids.append(str(answer.get("player_id")))
        return warned(f"first {player.player_id}, then {format_redacted(answer.get('player_id'), 40)}")
    player.token = str(answer.get("auth_token"))
    return passed(player.player_id)


def _change_request(**fields: Any) -> RegistrationWriter:
    """Write a registration with changed fields; `...` removes a field."""
    return lambda subject, player: _merge(subject.write_player_request(player), fields)


def _change_meta(**fields: Any) -> RegistrationWriter:
    """Write a registration with changed fields in `player_meta`; `...` removes a field."""

    def write(subject: ManagerSubject, player: CheckerPlayer) -> Mapping[str, Any]:
        request = subject.write_player_request(player)
        return {**request, "player_meta": _merge(request["player_meta"], fields)}

    return write


def _merge(message: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**message, **changes}.items() if value is not ...}


def _build_refusal_step(what: str, code: str, write: RegistrationWriter, hint: str) -> ManagerStep:
    async def judge(subject: ManagerSubject) -> StepFinding:
        return judge_refusal(await subject.send_bad_registration(write), code)

    return CheckStep(f"{what} is refused with {code}", f"LEAGUE_ERROR {code}", hint, judge)


REGISTRATION_RULE_STEPS: tuple[ManagerStep, ...] = (
    CheckStep(
        "a second player gets an id and a token of its own",
        "another player_id and another auth_token",
        "Give each player an id and a token of its own.",
        _judge_second_player,
    ),
    CheckStep(
        "a player that registers again keeps its id",
        "the same player_id for the same name, endpoint and token",
        "An agent that comes back with its own token is the one it was: give it its old id and a new token.",
        _judge_second_registration,
    ),
    _build_refusal_step(
        "a registration without player_meta",
        "E003",
        _change_request(player_meta=...),
        "Name the missing field (E003).",
    ),
    _build_refusal_step(
        "a registration without display_name",
        "E003",
        _change_meta(display_name=...),
        "Check that player_meta has display_name, and name the missing field (E003).",
    ),
    _build_refusal_step(
        "a display_name that is a number",
        "E002",
        _change_meta(display_name=42),
        "Check the type of each field, and refuse a wrong one with E002.",
    ),
    _build_refusal_step(
        "a registration in local time",
        "E021",
        _change_request(timestamp="2025-01-15T10:30:00+02:00"),
        "Refuse a 'timestamp' that doesn't end in Z or +00:00 with E021.",
    ),
    _build_refusal_step(
        "a registration in another protocol",
        "E018",
        _change_request(protocol="league.v9"),
        "Refuse a 'protocol' that you don't speak with E018.",
    ),
    build_rejection_step("a player of another game", "Unsupported game type", _change_meta(game_types=["chess"])),
    build_rejection_step(
        "an endpoint that is no address", "Invalid MCP endpoint", _change_meta(contact_endpoint="not an address")
    ),
    build_rejection_step(
        "a name that is taken",
        "Duplicate display name",
        lambda subject, player: subject.write_player_request(player, name=subject.players[0].name),
    ),
)


async def _judge_query(subject: ManagerSubject) -> StepFinding:
    exchange = await subject.ask_in_any_form("league_query", subject.write_query(), QUERY_ANSWER)
    is_answered = subject.store_exchange("query", exchange).answer is not None
    return passed(f"a {QUERY_ANSWER}") if is_answered else failed(exchange.reply_text)


def _build_query_step(query_type: str) -> ManagerStep:
    async def judge(subject: ManagerSubject) -> StepFinding:
        exchange = await subject.ask("league_query", subject.write_query(query_type), wanted=QUERY_ANSWER)
        if (exchange.answer or {}).get("success") is True:
            return passed("success")
        return warned(exchange.reply_text) if exchange.reply.status < 500 else failed(exchange.reply_text)

    return CheckStep(f"{query_type} is answered", '"success": true', f"Answer the query_type {query_type}.", judge)


def _judge_standings_list(_: ManagerSubject, answer: Mapping[str, Any]) -> StepFinding:
    places = (get_field(answer, path) for path in ("standings", "data.standings", "data"))
    lists = [value for value in places if isinstance(value, list)]
    return passed(f"{len(lists[0])} rows") if lists else failed("no list of standings")


_QUERY = _make_rows("query", QUERY_ANSWER)
_TOLERATED_QUERY = replace(_QUERY, severity=Severity.TOLERATED)
QUERY_STEPS: tuple[ManagerStep, ...] = (
    CheckStep(
        "league_query is answered",
        f"a {QUERY_ANSWER}",
        f"Serve the method `league_query` with a {QUERY_ANSWER}.",
        _judge_query,
    ),
    *_TOLERATED_QUERY.envelope_rows("league_manager"),
    _TOLERATED_QUERY.value_row(
        "conversation_id", "the one of the question", FIELD_HINTS["conversation_id"], lambda _: "conv-query-001"
    ),
    _QUERY.value_row(
        "query_type",
        '"GET_STANDINGS"',
        "Copy 'query_type' from the question.",
        lambda _: "GET_STANDINGS",
        StepVerdict.WARNING,
    ),
    _QUERY.value_row(
        "success",
        "true",
        'Put "success": true into the answer to a good question, as a JSON boolean.',
        lambda _: True,
        StepVerdict.WARNING,
    ),
    _QUERY.row(
        "standings",
        "a list, in `data` or at the top",
        "Put the table as a list into 'data.standings' and 'standings'.",
        _judge_standings_list,
    ),
    *map(_build_query_step, ("GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS")),
)


_COMPARE_HINT = (
    "Compare 'auth_token' with the one that you gave to 'sender': E011 where it is missing, E012 where it is wrong."
)


def _build_query_refusal_step(
    title: str, code: str, change: Callable[[ManagerSubject], Mapping[str, Any]], hint: str = _COMPARE_HINT
) -> ManagerStep:
    async def judge(subject: ManagerSubject) -> StepFinding:
        query = {**subject.write_query(), **change(subject)}
        found = judge_refusal(await subject.ask("league_query", query, wanted=QUERY_ANSWER), code)
        return warned(found.came) if code == "E008" and found.verdict is StepVerdict.FAIL else found

    return CheckStep(f"{title} is refused with {code}", f"LEAGUE_ERROR {code}", hint, judge)


def _get_other_token(subject: ManagerSubject) -> Mapping[str, Any]:
    if len(subject.accepted_players) < 2:
        raise SkipStep("no second player was admitted")
    return {"auth_token": subject.accepted_players[1].token}


async def _judge_player_report(subject: ManagerSubject) -> StepFinding:
    player = subject.querying_player
    message = subject.write_report(subject.referees[0], "R1M1", (player.player_id, "P99"), 1, player.player_id)
    stolen = {**message, "sender": f"referee:{player.player_id}", "auth_token": player.token}
    return judge_refusal(await subject.ask("report_match_result", stolen), "E012", "E013")


async def _judge_stranger_start(subject: ManagerSubject) -> StepFinding:
    exchange = await subject.ask("start_league", subject.write_start_league("tok-admin-made-up"))
    if exchange.is_unknown_method:
        raise SkipStep("the manager doesn't serve `start_league`")
    return judge_refusal(exchange, "E011", "E012")


AUTHORIZATION_STEPS: tuple[ManagerStep, ...] = (
    _build_query_refusal_step("a question without a token", "E011", lambda _: {"auth_token": None}),
    _build_query_refusal_step("a wrong token", "E012", lambda _: {"auth_token": "tok-p01-made-up-by-somebody-else"}),
    _build_query_refusal_step("the token of another player", "E012", _get_other_token),
    _build_query_refusal_step(
        "a question about another league",
        "E008",
        lambda _: {"league_id": "some_other_league"},
        "Compare 'league_id' with your own, and refuse another one with E008.",
    ),
    CheckStep("a report from a player is refused", "LEAGUE_ERROR E012 or E013", _COMPARE_HINT, _judge_player_report),
    CheckStep(
        "a start without the admin token is refused",
        "LEAGUE_ERROR E011 or E012",
        "Only the organiser may start the league: check the admin token.",
        _judge_stranger_start,
    ),
)
"""Tokens, league ids and roles that must be refused."""
