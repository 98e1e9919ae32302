"""The steps for a manager: the checker plays its referees and all its players, which uses up the manager's league."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_league.check.expected_refusals import build_rejection_step, judge_refusal
from agent_league.check.fields import (
    FIELD_HINTS,
    build_envelope_steps,
    get_field,
    judge_type,
    judge_value,
    make_message_judge,
)
from agent_league.check.frames import build_json_rpc_steps, build_server_steps
from agent_league.check.hostile_input import build_hostile_steps
from agent_league.check.http_probe import format_redacted
from agent_league.check.manager_league import build_league_steps
from agent_league.check.manager_subject import ManagerSubject, RegistrationWriter
from agent_league.check.scripted_agents import CheckerPlayer
from agent_league.check.steps import (
    AnyStep,
    CheckStep,
    SkipStep,
    StepFinding,
    StepVerdict,
    failed,
    passed,
    tolerate_step,
    warned,
)

MIN_TOKEN_LENGTH = 16


def build_manager_steps() -> list[AnyStep]:
    """Build all steps in order; the league is started last."""
    return [
        *build_server_steps(),
        *_build_registration_steps("referee"),
        *_build_registration_steps("player"),
        *_build_registration_rule_steps(),
        *_build_query_steps(),
        *_build_authorization_steps(),
        *build_json_rpc_steps(),
        *build_hostile_steps(),
        *build_league_steps(),
    ]


def _build_registration_steps(role: str) -> list[AnyStep]:
    """Build the steps on a registration and on each field of its answer."""
    kind = "LEAGUE_REGISTER_RESPONSE" if role == "player" else "REFEREE_REGISTER_RESPONSE"
    method = f"register_{role}"

    async def registers(subject: ManagerSubject) -> StepFinding:
        if role == "player":
            exchange = await subject.register_player(subject.players[0])
        else:
            exchange = await subject.register_referee(subject.referees[0])
        subject.store_exchange(method, exchange)
        answer = exchange.answer
        if answer is not None and answer.get("status") == "ACCEPTED":
            style = subject.call_forms[method]
            return passed("ACCEPTED") if style.name == "seeds" else warned(f"only in another form: {style.description}")
        if answer is not None:
            return failed(
                exchange.reply_text, "The manager rejects a good registration: is its league still open?", ends=True
            )
        if exchange.is_unknown_method:
            return failed(
                exchange.reply_text, f"The agent doesn't know the method `{method}`: name it exactly so.", ends=True
            )
        return failed(exchange.reply_text, ends=True)

    def answer(subject: ManagerSubject) -> Mapping[str, Any]:
        return subject.require_exchange(method, kind).answer or {}

    def is_string(name: str, hint: str) -> AnyStep:
        return CheckStep(
            f"{kind}: {name}",
            "a string",
            hint,
            make_message_judge(answer, lambda _, found: judge_type(found, name, str)),
        )

    return [
        CheckStep(
            f"{method} is accepted", f"a {kind} with the status ACCEPTED", f"Serve the method `{method}`.", registers
        ),
        *map(tolerate_step, build_envelope_steps(kind, answer, "league_manager", lambda _: None)),
        tolerate_step(
            CheckStep(
                f"{kind}: conversation_id",
                "the one of the request",
                FIELD_HINTS["conversation_id"],
                make_message_judge(
                    answer,
                    lambda subject, found: judge_value(
                        found, "conversation_id", subject.exchanges[method].message["conversation_id"]
                    ),
                ),
            )
        ),
        is_string(f"{role}_id", f"Give each {role} an id of its own in '{role}_id'."),
        tolerate_step(is_string("league_id", "Put the id of your league into 'league_id'.")),
        CheckStep(
            f"{kind}: auth_token",
            f"a token of at least {MIN_TOKEN_LENGTH} letters",
            "Give each agent a long random token in 'auth_token' (secrets.token_hex(32)): whoever guesses it can act "
            "in its name.",
            make_message_judge(answer, lambda _, found: _judge_new_token(found)),
        ),
        CheckStep(
            f"{kind}: reason",
            "null",
            'Put "reason": null into the answer to an agent that you accept.',
            make_message_judge(
                answer, lambda _, found: passed("null") if found.get("reason", "") is None else warned("not null")
            ),
        ),
    ]


def _judge_new_token(answer: Mapping[str, Any]) -> StepFinding:
    found = judge_type(answer, "auth_token", str)
    if found.verdict is StepVerdict.PASS and len(answer["auth_token"]) < MIN_TOKEN_LENGTH:
        return warned(f"{len(answer['auth_token'])} letters")
    return found


def _build_registration_rule_steps() -> list[AnyStep]:
    def without(path: str) -> RegistrationWriter:
        def write(subject: ManagerSubject, player: CheckerPlayer) -> Mapping[str, Any]:
            request = subject.write_player_request(player)
            inner = request["player_meta"] if "." in path else request
            del inner[path.rpartition(".")[2]]
            return request

        return write

    def changed(**fields: Any) -> RegistrationWriter:
        return lambda subject, player: {**subject.write_player_request(player), **fields}

    def meta(**fields: Any) -> RegistrationWriter:
        return lambda subject, player: subject.write_player_request(player, **fields)

    return [
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
            "a registration without player_meta", "E003", without("player_meta"), "Name the missing field (E003)."
        ),
        _build_refusal_step(
            "a registration without display_name",
            "E003",
            without("player_meta.display_name"),
            "Check that player_meta has display_name, and name the missing field (E003).",
        ),
        _build_refusal_step(
            "a display_name that is a number",
            "E002",
            meta(display_name=42),
            "Check the type of each field, and refuse a wrong one with E002.",
        ),
        _build_refusal_step(
            "a registration in local time",
            "E021",
            changed(timestamp="2025-01-15T10:30:00+02:00"),
            "Refuse a 'timestamp' that doesn't end in Z or +00:00 with E021.",
        ),
        _build_refusal_step(
            "a registration in another protocol",
            "E018",
            changed(protocol="league.v9"),
            "Refuse a 'protocol' that you don't speak with E018.",
        ),
        build_rejection_step("a player of another game", "Unsupported game type", meta(game_types=["chess"])),
        build_rejection_step(
            "an endpoint that is no address", "Invalid MCP endpoint", meta(contact_endpoint="not an address")
        ),
        build_rejection_step(
            "a name that is taken",
            "Duplicate display name",
            lambda subject, player: subject.write_player_request(player, name=f"Checked {subject.players[0].name}"),
        ),
    ]


async def _judge_second_player(subject: ManagerSubject) -> StepFinding:
    first = subject.querying_player
    before = (first.player_id, first.token)
    exchange = await subject.register_player(subject.players[1])
    second = subject.players[1]
    if second not in subject.accepted_players:
        return failed(exchange.reply_text)
    if second.player_id == before[0]:
        return failed(f"the same player_id: {second.player_id}")
    return failed("the same auth_token") if second.token == before[1] else passed(f"{before[0]} and {second.player_id}")


async def _judge_second_registration(subject: ManagerSubject) -> StepFinding:
    player = subject.querying_player
    request = {**subject.write_player_request(player, name=f"Checked {player.name}"), "auth_token": player.token}
    exchange = await subject.ask("register_player", request, wanted="LEAGUE_REGISTER_RESPONSE")
    answer = exchange.answer or {}
    if answer.get("status") != "ACCEPTED":
        return warned(exchange.reply_text)
    if answer.get("player_id") != player.player_id:
        subject.player_ids.append(str(answer.get("player_id")))
        return warned(f"first {player.player_id}, then {format_redacted(answer.get('player_id'), 40)}")
    player.token = str(answer.get("auth_token"))
    return passed(player.player_id)


def _build_refusal_step(what: str, code: str, write: RegistrationWriter, hint: str) -> AnyStep:
    async def judge(subject: ManagerSubject) -> StepFinding:
        return judge_refusal(await subject.send_bad_registration(write), code)

    return CheckStep(f"{what} is refused with {code}", f"LEAGUE_ERROR {code}", hint, judge)


def _build_query_steps() -> list[AnyStep]:
    kind = "LEAGUE_QUERY_RESPONSE"

    async def asks(subject: ManagerSubject) -> StepFinding:
        exchange = subject.store_exchange(
            "query", await subject.ask_in_any_form("league_query", subject.write_query(), kind)
        )
        if exchange.answer is not None:
            return passed(f"a {kind}")
        return failed(exchange.reply_text)

    def answer(subject: ManagerSubject) -> Mapping[str, Any]:
        return subject.require_exchange("query", kind).answer or {}

    def answers(query_type: str) -> AnyStep:
        async def judge(subject: ManagerSubject) -> StepFinding:
            exchange = await subject.ask("league_query", subject.write_query(query_type), wanted=kind)
            found = exchange.answer or {}
            if found.get("success") is True:
                return passed("success")
            return warned(exchange.reply_text) if exchange.reply.status < 500 else failed(exchange.reply_text)

        return CheckStep(f"{query_type} is answered", '"success": true', f"Answer the query_type {query_type}.", judge)

    return [
        CheckStep("league_query is answered", f"a {kind}", f"Serve the method `league_query` with a {kind}.", asks),
        *map(tolerate_step, build_envelope_steps(kind, answer, "league_manager", lambda _: None)),
        tolerate_step(
            CheckStep(
                f"{kind}: conversation_id",
                "the one of the question",
                FIELD_HINTS["conversation_id"],
                make_message_judge(answer, lambda _, found: judge_value(found, "conversation_id", "conv-query-001")),
            )
        ),
        CheckStep(
            f"{kind}: query_type",
            '"GET_STANDINGS"',
            "Copy 'query_type' from the question.",
            make_message_judge(
                answer, lambda _, found: judge_value(found, "query_type", "GET_STANDINGS", StepVerdict.WARNING)
            ),
        ),
        CheckStep(
            f"{kind}: success",
            "true",
            'Put "success": true into the answer to a good question, as a JSON boolean.',
            make_message_judge(answer, lambda _, found: judge_value(found, "success", True, StepVerdict.WARNING)),
        ),
        CheckStep(
            f"{kind}: standings",
            "a list, in `data` or at the top",
            "Put the table as a list into 'data.standings' and 'standings'.",
            make_message_judge(answer, lambda _, found: _judge_standings_list(found)),
        ),
        *(answers(query_type) for query_type in ("GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS")),
    ]


def _judge_standings_list(answer: Mapping[str, Any]) -> StepFinding:
    lists = [
        value for path in ("standings", "data.standings", "data") if isinstance(value := get_field(answer, path), list)
    ]
    return passed(f"{len(lists[0])} rows") if lists else failed("no list of standings")


def _build_authorization_steps() -> list[AnyStep]:
    """Build the steps on authorization: tokens, league ids and roles that must be refused."""
    own = (
        "Compare 'auth_token' with the one that you gave to 'sender': E011 where it is missing, E012 where it is wrong."
    )

    def query(title: str, code: str, change: Callable[[ManagerSubject], Mapping[str, Any]], hint: str = own) -> AnyStep:
        async def judge(subject: ManagerSubject) -> StepFinding:
            exchange = await subject.ask(
                "league_query", {**subject.write_query(), **change(subject)}, wanted="LEAGUE_QUERY_RESPONSE"
            )
            found = judge_refusal(exchange, code)
            return warned(found.came) if code == "E008" and found.verdict is StepVerdict.FAIL else found

        return CheckStep(f"{title} is refused with {code}", f"LEAGUE_ERROR {code}", hint, judge)

    async def report(subject: ManagerSubject) -> StepFinding:
        player = subject.querying_player
        message = subject.write_report(subject.referees[0], "R1M1", (player.player_id, "P99"), 1, player.player_id)
        stolen = {**message, "sender": f"referee:{player.player_id}", "auth_token": player.token}
        return judge_refusal(await subject.ask("report_match_result", stolen), "E012", "E013")

    async def start(subject: ManagerSubject) -> StepFinding:
        message = subject.write_start_league("tok-admin-made-up")
        exchange = await subject.ask("start_league", message)
        if exchange.is_unknown_method:
            raise SkipStep("the manager doesn't serve `start_league`")
        return judge_refusal(exchange, "E011", "E012")

    return [
        query("a question without a token", "E011", lambda _: {"auth_token": None}),
        query("a wrong token", "E012", lambda _: {"auth_token": "tok-p01-made-up-by-somebody-else"}),
        query("the token of another player", "E012", _get_other_token),
        query(
            "a question about another league",
            "E008",
            lambda _: {"league_id": "some_other_league"},
            "Compare 'league_id' with your own, and refuse another one with E008.",
        ),
        CheckStep("a report from a player is refused", "LEAGUE_ERROR E012 or E013", own, report),
        CheckStep(
            "a start without the admin token is refused",
            "LEAGUE_ERROR E011 or E012",
            "Only the organiser may start the league: check the admin token.",
            start,
        ),
    ]


def _get_other_token(subject: ManagerSubject) -> Mapping[str, Any]:
    if len(subject.accepted_players) < 2:
        raise SkipStep("no second player was admitted")
    return {"auth_token": subject.accepted_players[1].token}
