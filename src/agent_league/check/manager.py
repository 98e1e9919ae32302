"""The steps for a manager: the checker plays its referees and all its players, which uses up the manager's league."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_league.check.expected_refusals import judge_refusal, rejected_step
from agent_league.check.fields import HINTS, envelope_steps, judge_kind, judge_value, look_up, on
from agent_league.check.frames import json_rpc_steps, server_steps
from agent_league.check.hostile_input import hostile_steps
from agent_league.check.http_probe import show
from agent_league.check.manager_league import league_steps
from agent_league.check.manager_subject import ManagerBench, Writer
from agent_league.check.scripted_agents import StandInPlayer
from agent_league.check.steps import (
    AnyStep,
    Finding,
    Skip,
    Step,
    Verdict,
    failed,
    passed,
    tolerate_step,
    warned,
)

SHORTEST_TOKEN = 16


def manager_steps() -> list[AnyStep]:
    """Build all steps in order; the league is started last."""
    return [
        *server_steps(),
        *_admission_steps("referee"),
        *_admission_steps("player"),
        *_application_steps(),
        *_query_steps(),
        *_gate_steps(),
        *json_rpc_steps(),
        *hostile_steps(),
        *league_steps(),
    ]


def _admission_steps(role: str) -> list[AnyStep]:
    """Build the steps on a registration and on each field of its answer."""
    kind = "LEAGUE_REGISTER_RESPONSE" if role == "player" else "REFEREE_REGISTER_RESPONSE"
    method = f"register_{role}"

    async def registers(bench: ManagerBench) -> Finding:
        if role == "player":
            exchange = await bench.admit(bench.players[0])
        else:
            exchange = await bench.admit_referee(bench.referees[0])
        bench.keep(method, exchange)
        answer = exchange.answer
        if answer is not None and answer.get("status") == "ACCEPTED":
            style = bench.styles[method]
            return passed("ACCEPTED") if style.name == "seeds" else warned(f"only in another form: {style.says}")
        if answer is not None:
            return failed(
                exchange.came, "The manager rejects a good registration: is its league still open?", ends=True
            )
        if exchange.unknown_method:
            return failed(
                exchange.came, f"The agent doesn't know the method `{method}`: name it exactly so.", ends=True
            )
        return failed(exchange.came, ends=True)

    def answer(bench: ManagerBench) -> Mapping[str, Any]:
        return bench.need(method, kind).answer or {}

    def is_string(name: str, hint: str) -> AnyStep:
        return Step(f"{kind}: {name}", "a string", hint, on(answer, lambda _, found: judge_kind(found, name, str)))

    return [
        Step(f"{method} is accepted", f"a {kind} with the status ACCEPTED", f"Serve the method `{method}`.", registers),
        *map(tolerate_step, envelope_steps(kind, answer, "league_manager", lambda _: None)),
        tolerate_step(
            Step(
                f"{kind}: conversation_id",
                "the one of the request",
                HINTS["conversation_id"],
                on(
                    answer,
                    lambda bench, found: judge_value(
                        found, "conversation_id", bench.kept[method].message["conversation_id"]
                    ),
                ),
            )
        ),
        is_string(f"{role}_id", f"Give each {role} an id of its own in '{role}_id'."),
        tolerate_step(is_string("league_id", "Put the id of your league into 'league_id'.")),
        Step(
            f"{kind}: auth_token",
            f"a token of at least {SHORTEST_TOKEN} letters",
            "Give each agent a long random token in 'auth_token' (secrets.token_hex(32)): whoever guesses it can act "
            "in its name.",
            on(answer, lambda _, found: _judge_new_token(found)),
        ),
        Step(
            f"{kind}: reason",
            "null",
            'Put "reason": null into the answer to an agent that you accept.',
            on(answer, lambda _, found: passed("null") if found.get("reason", "") is None else warned("not null")),
        ),
    ]


def _judge_new_token(answer: Mapping[str, Any]) -> Finding:
    found = judge_kind(answer, "auth_token", str)
    if found.verdict is Verdict.PASS and len(answer["auth_token"]) < SHORTEST_TOKEN:
        return warned(f"{len(answer['auth_token'])} letters")
    return found


def _application_steps() -> list[AnyStep]:
    def without(path: str) -> Writer:
        def write(bench: ManagerBench, player: StandInPlayer) -> Mapping[str, Any]:
            request = bench.player_request(player)
            inner = request["player_meta"] if "." in path else request
            del inner[path.rpartition(".")[2]]
            return request

        return write

    def changed(**fields: Any) -> Writer:
        return lambda bench, player: {**bench.player_request(player), **fields}

    def meta(**fields: Any) -> Writer:
        return lambda bench, player: bench.player_request(player, **fields)

    return [
        Step(
            "a second player gets an id and a token of its own",
            "another player_id and another auth_token",
            "Give each player an id and a token of its own.",
            _second_player,
        ),
        Step(
            "a player that registers again keeps its id",
            "the same player_id for the same name, endpoint and token",
            "An agent that comes back with its own token is the one it was: give it its old id and a new token.",
            _comes_back,
        ),
        _refused(
            "a registration without player_meta", "E003", without("player_meta"), "Name the missing field (E003)."
        ),
        _refused(
            "a registration without display_name",
            "E003",
            without("player_meta.display_name"),
            "Check that player_meta has display_name, and name the missing field (E003).",
        ),
        _refused(
            "a display_name that is a number",
            "E002",
            meta(display_name=42),
            "Check the type of each field, and refuse a wrong one with E002.",
        ),
        _refused(
            "a registration in local time",
            "E021",
            changed(timestamp="2025-01-15T10:30:00+02:00"),
            "Refuse a 'timestamp' that doesn't end in Z or +00:00 with E021.",
        ),
        _refused(
            "a registration in another protocol",
            "E018",
            changed(protocol="league.v9"),
            "Refuse a 'protocol' that you don't speak with E018.",
        ),
        rejected_step("a player of another game", "Unsupported game type", meta(game_types=["chess"])),
        rejected_step(
            "an endpoint that is no address", "Invalid MCP endpoint", meta(contact_endpoint="not an address")
        ),
        rejected_step(
            "a name that is taken",
            "Duplicate display name",
            lambda bench, player: bench.player_request(player, name=f"Checked {bench.players[0].name}"),
        ),
    ]


async def _second_player(bench: ManagerBench) -> Finding:
    first = bench.asker
    before = (first.player_id, first.token)
    exchange = await bench.admit(bench.players[1])
    second = bench.players[1]
    if second not in bench.admitted:
        return failed(exchange.came)
    if second.player_id == before[0]:
        return failed(f"the same player_id: {second.player_id}")
    return failed("the same auth_token") if second.token == before[1] else passed(f"{before[0]} and {second.player_id}")


async def _comes_back(bench: ManagerBench) -> Finding:
    player = bench.asker
    request = {**bench.player_request(player, name=f"Checked {player.name}"), "auth_token": player.token}
    exchange = await bench.ask("register_player", request, wanted="LEAGUE_REGISTER_RESPONSE")
    answer = exchange.answer or {}
    if answer.get("status") != "ACCEPTED":
        return warned(exchange.came)
    if answer.get("player_id") != player.player_id:
        bench.ids.append(str(answer.get("player_id")))
        return warned(f"first {player.player_id}, then {show(answer.get('player_id'), 40)}")
    player.token = str(answer.get("auth_token"))
    return passed(player.player_id)


def _refused(what: str, code: str, write: Writer, hint: str) -> AnyStep:
    async def judge(bench: ManagerBench) -> Finding:
        return judge_refusal(await bench.apply(write), code)

    return Step(f"{what} is refused with {code}", f"LEAGUE_ERROR {code}", hint, judge)


def _query_steps() -> list[AnyStep]:
    kind = "LEAGUE_QUERY_RESPONSE"

    async def asks(bench: ManagerBench) -> Finding:
        exchange = bench.keep("query", await bench.learn("league_query", bench.query(), kind))
        if exchange.answer is not None:
            return passed(f"a {kind}")
        return failed(exchange.came)

    def answer(bench: ManagerBench) -> Mapping[str, Any]:
        return bench.need("query", kind).answer or {}

    def answers(query_type: str) -> AnyStep:
        async def judge(bench: ManagerBench) -> Finding:
            exchange = await bench.ask("league_query", bench.query(query_type), wanted=kind)
            found = exchange.answer or {}
            if found.get("success") is True:
                return passed("success")
            return warned(exchange.came) if exchange.reply.status < 500 else failed(exchange.came)

        return Step(f"{query_type} is answered", '"success": true', f"Answer the query_type {query_type}.", judge)

    return [
        Step("league_query is answered", f"a {kind}", f"Serve the method `league_query` with a {kind}.", asks),
        *map(tolerate_step, envelope_steps(kind, answer, "league_manager", lambda _: None)),
        tolerate_step(
            Step(
                f"{kind}: conversation_id",
                "the one of the question",
                HINTS["conversation_id"],
                on(answer, lambda _, found: judge_value(found, "conversation_id", "conv-query-001")),
            )
        ),
        Step(
            f"{kind}: query_type",
            '"GET_STANDINGS"',
            "Copy 'query_type' from the question.",
            on(answer, lambda _, found: judge_value(found, "query_type", "GET_STANDINGS", Verdict.WARNING)),
        ),
        Step(
            f"{kind}: success",
            "true",
            'Put "success": true into the answer to a good question, as a JSON boolean.',
            on(answer, lambda _, found: judge_value(found, "success", True, Verdict.WARNING)),
        ),
        Step(
            f"{kind}: standings",
            "a list, in `data` or at the top",
            "Put the table as a list into 'data.standings' and 'standings'.",
            on(answer, lambda _, found: _judge_table(found)),
        ),
        *(answers(query_type) for query_type in ("GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS")),
    ]


def _judge_table(answer: Mapping[str, Any]) -> Finding:
    lists = [
        value for path in ("standings", "data.standings", "data") if isinstance(value := look_up(answer, path), list)
    ]
    return passed(f"{len(lists[0])} rows") if lists else failed("no list of standings")


def _gate_steps() -> list[AnyStep]:
    """Build the steps on authorization: tokens, league ids and roles that must be refused."""
    own = (
        "Compare 'auth_token' with the one that you gave to 'sender': E011 where it is missing, E012 where it is wrong."
    )

    def query(title: str, code: str, change: Callable[[ManagerBench], Mapping[str, Any]], hint: str = own) -> AnyStep:
        async def judge(bench: ManagerBench) -> Finding:
            exchange = await bench.ask(
                "league_query", {**bench.query(), **change(bench)}, wanted="LEAGUE_QUERY_RESPONSE"
            )
            found = judge_refusal(exchange, code)
            return warned(found.came) if code == "E008" and found.verdict is Verdict.FAIL else found

        return Step(f"{title} is refused with {code}", f"LEAGUE_ERROR {code}", hint, judge)

    async def report(bench: ManagerBench) -> Finding:
        player = bench.asker
        message = bench.write_report(bench.referees[0], "R1M1", (player.player_id, "P99"), 1, player.player_id)
        stolen = {**message, "sender": f"referee:{player.player_id}", "auth_token": player.token}
        return judge_refusal(await bench.ask("report_match_result", stolen), "E012", "E013")

    async def start(bench: ManagerBench) -> Finding:
        message = bench.start_message("tok-admin-made-up")
        exchange = await bench.ask("start_league", message)
        if exchange.unknown_method:
            raise Skip("the manager doesn't serve `start_league`")
        return judge_refusal(exchange, "E011", "E012")

    return [
        query("a question without a token", "E011", lambda _: {"auth_token": None}),
        query("a wrong token", "E012", lambda _: {"auth_token": "tok-p01-made-up-by-somebody-else"}),
        query("the token of another player", "E012", _others_token),
        query(
            "a question about another league",
            "E008",
            lambda _: {"league_id": "some_other_league"},
            "Compare 'league_id' with your own, and refuse another one with E008.",
        ),
        Step("a report from a player is refused", "LEAGUE_ERROR E012 or E013", own, report),
        Step(
            "a start without the admin token is refused",
            "LEAGUE_ERROR E011 or E012",
            "Only the organiser may start the league: check the admin token.",
            start,
        ),
    ]


def _others_token(bench: ManagerBench) -> Mapping[str, Any]:
    if len(bench.admitted) < 2:
        raise Skip("no second player was admitted")
    return {"auth_token": bench.admitted[1].token}
