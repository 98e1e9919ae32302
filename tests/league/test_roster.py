"""Registration: ids, tokens, refusals and coming back, by real messages through the manager's dispatcher."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.http.client import HttpCarrier
from agent_league.launch.agent_plan import AgentListeners, ManagerPlan
from agent_league.league.settings import ManagerSettings
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import AgentRegistered, RegistrationRefused
from agent_league.model.looks import PlayerLook
from agent_league.testing.peers import ScriptedPlayer
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, MANAGER, Office, within
from tests.protocol.examples_v1 import example as v1

OPEN_NETWORK = {"network.allowed_hosts": ["*"]}


def address(number: int) -> str:
    return f"http://localhost:{8100 + number}/mcp"


def assert_rejected(answer: dict[str, Any], reason: str, role: str = "player") -> None:
    assert (answer["status"], answer["reason"]) == ("REJECTED", reason)
    assert answer[f"{role}_id"] is None
    assert answer["auth_token"] is None
    assert answer["message_type"] == ("LEAGUE" if role == "player" else "REFEREE") + "_REGISTER_RESPONSE"
    assert answer["conversation_id"] == "conv-test-001"
    assert answer["league_id"] == LEAGUE_ID


def assert_error(answer: dict[str, Any], code: str) -> None:
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", code)
    assert answer["conversation_id"] == "conv-test-001"


async def admitted(office: Office, number: int, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await office.register(f"Agent {number}", address(number), **options)
    assert answer["status"] == "ACCEPTED"
    return answer


@pytest.mark.parametrize("strict", [False, True])
async def test_nobody_is_refused_for_a_look_and_what_is_bad_of_it_is_left_out_and_noted(
    office: OfficeMaker, strict: bool
) -> None:
    here = office({"tolerance.strict": strict})
    bad: list[Any] = ["red", "\u202e", 7, True, [], {"a": 1}, "x" * 10_000]
    for number, value in enumerate(bad, start=1):
        meta = {"color": value, "avatar": value, "match_tokens": True}
        answer = await here.register(
            f"Painter {number}", f"http://localhost:{8100 + number}/mcp", sender=f"player:p{number}", **meta
        )
        member = here.manager.state.roster[answer["player_id"]]
        assert member.agent.look == (PlayerLook(sign="red") if value == "red" else PlayerLook())
        noted = [said.partition(" ")[0] for said in member.protocol_profile.deviations]
        wanted = ["'color'"] if value == "red" else ["'color'", "'avatar'"]
        assert [said for said in noted if said in ("'color'", "'avatar'")] == wanted
    answer = await here.register("Referee", "http://localhost:8001/mcp", role="referee", color="red")
    assert here.manager.state.roster[answer["referee_id"]].protocol_profile.deviations == ()


async def started(office: Office) -> ScriptedPlayer:
    """A league that has started and waits for its referee's reports; returns its first player."""
    players = await office.seat_players(2)
    await office.seat_referee(auto_report=False)
    assert await office.start() == {"status": "ok"}
    return players[0]


async def is_valid(office: Office, player_id: str, token: str) -> bool:
    answer = await office.say(
        "league_query", "LEAGUE_QUERY", f"player:{player_id}", auth_token=token, query_type="GET_STANDINGS"
    )
    if answer["message_type"] == "LEAGUE_ERROR":
        assert answer["error_code"] == "E012"
    return bool(answer["message_type"] == "LEAGUE_QUERY_RESPONSE")


async def test_players_and_referees_are_numbered_in_order_of_registration(office: OfficeMaker) -> None:
    here = office()
    assert [(await admitted(here, number))["player_id"] for number in range(1, 12)] == [
        *(f"P{number:02}" for number in range(1, 12))
    ]
    referees = [await here.register(f"Referee {n}", address(50 + n), role="referee") for n in (1, 2)]
    assert [referee["referee_id"] for referee in referees] == ["REF01", "REF02"]


async def test_a_free_id_of_the_right_form_is_given_to_who_asks_for_it(office: OfficeMaker) -> None:
    here = office()
    assert (await admitted(here, 1, sender="player:P07"))["player_id"] == "P07"
    referee = await here.register("Referee", address(50), role="referee", sender="referee:REF05")
    assert referee["referee_id"] == "REF05"


async def test_a_wanted_id_that_is_taken_gives_the_next_one(office: OfficeMaker) -> None:
    here = office()
    assert (await admitted(here, 1, sender="player:P01"))["player_id"] == "P01"
    assert (await admitted(here, 2, sender="player:P01"))["player_id"] == "P02"


async def test_numbering_passes_over_ids_that_were_asked_for(office: OfficeMaker) -> None:
    here = office()
    await admitted(here, 1, sender="player:P02")
    assert [(await admitted(here, number))["player_id"] for number in (2, 3)] == ["P01", "P03"]


@pytest.mark.parametrize(
    "name", ["alpha", "P1", "P00", "P007", "p07", "P", "P-1", "REF01", "P01 ", "P1\u0661", "P99999", "../P01"]
)
async def test_any_other_name_gives_the_next_id(office: OfficeMaker, name: str) -> None:
    assert (await admitted(office(), 1, sender=f"player:{name}"))["player_id"] == "P01"


async def test_p100_comes_after_p99(office: OfficeMaker) -> None:
    here = office({"participants.max_players": 200})
    given = [(await admitted(here, number))["player_id"] for number in range(1, 102)]
    assert given[98:] == ["P99", "P100", "P101"]
    assert list(here.manager.state.roster.players()) == given
    assert [row.player_id for row in here.manager.state.standings()] == given


async def test_a_player_and_a_referee_may_share_a_name(office: OfficeMaker) -> None:
    here = office()
    await admitted(here, 1)
    assert (await here.register("Agent 1", address(2), role="referee"))["status"] == "ACCEPTED"


async def test_a_token_names_its_owner_and_holds_at_least_32_random_bytes(office: OfficeMaker) -> None:
    here = office()
    player = await admitted(here, 1)
    referee = await here.register("Referee", address(50), role="referee")
    assert re.fullmatch(r"tok-p01-[0-9a-f]{64,}", player["auth_token"])
    assert re.fullmatch(r"tok-ref01-[0-9a-f]{64,}", referee["auth_token"])
    assert player["auth_token"].split("-")[2] != referee["auth_token"].split("-")[2]


async def test_a_longer_token_can_be_asked_for(office: OfficeMaker) -> None:
    answer = await admitted(office({"security.token_length": 48}), 1)
    assert len(answer["auth_token"].split("-")[2]) == 2 * 48


async def test_a_token_is_kept_only_as_a_hash(office: OfficeMaker) -> None:
    here = office()
    players = await here.seat_players(2)
    await here.seat_referee()
    await here.start()
    await here.completed()
    secrets = [str(player.token) for player in players] + [str(here.referees[0].token)]
    roster = here.manager.state.roster
    kept = repr([(member, vars(roster)) for member in roster])
    for path in here.home.rglob("*"):
        if path.is_file():
            kept += path.read_text(errors="replace")
    assert "Agent 1" in kept
    assert not [secret for secret in secrets if secret in kept]


async def test_a_token_ends_after_its_time_to_live(office: OfficeMaker) -> None:
    here = office({"security.token_ttl_hours": 2})
    token = (await admitted(here, 1))["auth_token"]
    assert await is_valid(here, "P01", token)
    here.clock.offset += timedelta(hours=1.9)
    assert await is_valid(here, "P01", token)
    here.clock.offset += timedelta(hours=0.2)
    assert not await is_valid(here, "P01", token)
    assert_error(await here.register("Agent 1", address(1), token=token), "E012")


async def test_registering_again_with_the_old_token_renews_it(office: OfficeMaker) -> None:
    here = office({"security.token_ttl_hours": 2})
    old = (await admitted(here, 1))["auth_token"]
    here.clock.offset += timedelta(hours=1.5)
    renewed = (await admitted(here, 1, token=old))["auth_token"]
    here.clock.offset += timedelta(hours=1.5)
    assert await is_valid(here, "P01", renewed)
    assert not await is_valid(here, "P01", old)


async def test_an_accepted_player_is_told_id_token_league_and_no_reason(office: OfficeMaker) -> None:
    answer = await admitted(office(), 1)
    assert answer["message_type"] == "LEAGUE_REGISTER_RESPONSE"
    assert answer["sender"] == "league_manager"
    assert answer["conversation_id"] == "conv-test-001"
    assert answer["league_id"] == LEAGUE_ID
    assert answer["reason"] is None
    assert answer["protocol"] == "league.v2"


async def test_a_registration_is_an_event(office: OfficeMaker) -> None:
    here = office()
    await admitted(here, 1)
    event = here.events[-1]
    assert isinstance(event, AgentRegistered)
    assert (event.agent_id, event.display_name, event.returned) == ("P01", "Agent 1", False)


BAD_ENDPOINTS = [
    "",
    "localhost:8101/mcp",
    "/mcp",
    "ftp://localhost:8101/mcp",
    "file:///etc/passwd",
    "mcp://localhost:8101/mcp",
    "http://",
    "http:///mcp",
    "http://:8101/mcp",
    "http://localhost:0/mcp",
    "http://localhost:65536/mcp",
    "http://localhost:port/mcp",
    "http://localhost:-1/mcp",
    "http://local host:8101/mcp",
    "http://localhost:8101/m cp",
    "http://localhost:8101/mcp\n",
    "http://localhost:8101/\r\nX-Injected: 1",
    "\x00http://localhost:8101/mcp",
    "http://localhost:8101/mcp\x00",
    "http://localhost:8101/\x1b[2J",
    "http://[::1:8101/mcp",
    "http://user@localhost:8101/mcp",
    "http://user:secret@localhost:8101/mcp",
    "http://evil.example\\@localhost:8101/mcp",
    "http://localhost:8101/mcp#part",
    "http://localhost:8101/" + "x" * 3000,
]

FOREIGN_ENDPOINTS = [
    "http://evil.example:8101/mcp",
    "http://localhost.evil.example:8101/mcp",
    "http://127.0.0.1.nip.io/mcp",
    "http://169.254.169.254/latest/meta-data",
    "http://0.0.0.0:8101/mcp",
    "http://2130706433:8101/mcp",
    "http://0x7f000001:8101/mcp",
    "http://[::ffff:10.0.0.1]:8101/mcp",
    "http://192.168.1.10:8101/mcp",
]


@pytest.mark.parametrize("role", ["player", "referee"])
async def test_an_invalid_endpoint_is_rejected(office: OfficeMaker, role: str) -> None:
    here = office()
    for endpoint in BAD_ENDPOINTS + FOREIGN_ENDPOINTS:
        answer = await here.register("Agent", endpoint, role=role)
        assert answer["status"] == "REJECTED", endpoint
        assert_rejected(answer, "Invalid MCP endpoint", role)
        assert not list(here.manager.state.roster), endpoint


async def test_a_league_open_to_all_hosts_still_wants_a_proper_address(office: OfficeMaker) -> None:
    here = office(OPEN_NETWORK)
    for endpoint in BAD_ENDPOINTS:
        answer = await here.register("Agent", endpoint)
        assert answer["status"] == "REJECTED", endpoint
        assert_rejected(answer, "Invalid MCP endpoint")


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://localhost:8101/mcp",
        "http://LOCALHOST:8101/mcp",
        "http://127.0.0.1:8101/mcp",
        "http://[::1]:8101/mcp",
        "https://localhost/mcp",
        "http://localhost:65535",
        "http://localhost:8101/deeper/mcp?key=1",
    ],
)
async def test_a_loopback_endpoint_is_accepted(office: OfficeMaker, endpoint: str) -> None:
    assert (await office().register("Agent", endpoint))["status"] == "ACCEPTED"


@pytest.mark.parametrize("allowed", [["*"], ["localhost", "agents.example"]])
async def test_other_hosts_are_accepted_where_the_network_settings_allow_them(
    office: OfficeMaker, allowed: list[str]
) -> None:
    here = office({"network.allowed_hosts": allowed})
    assert (await here.register("Agent", "http://agents.example:8101/mcp"))["status"] == "ACCEPTED"


@pytest.mark.parametrize(
    ("endpoint", "caller", "problem"),
    [
        ("http://10.77.0.2:8101/mcp", "10.77.0.2", None),
        ("http://10.77.0.2:8101/mcp", "::ffff:10.77.0.2", None),
        ("http://[fd00::2]:8101/mcp", "fd00:0::2", None),
        ("http://localhost:8101/mcp", "127.0.0.1", None),
        ("http://10.77.0.3:8101/mcp", "10.77.0.2", "neither the address that you call from (10.77.0.2)"),
        ("http://10.77.0.2:8101/mcp", "127.0.0.1", "network.allowed_hosts"),
        ("http://localhost:8101/mcp", "10.77.0.2", "you call from 10.77.0.2: start with --public-url"),
        ("http://127.0.0.9:8101/mcp", "10.77.0.2", "you call from 10.77.0.2: start with --public-url"),
        ("http://0.0.0.0:8101/mcp", "10.77.0.2", "you call from 10.77.0.2: start with --public-url"),
        ("http://169.254.1.1:8101/mcp", "10.77.0.2", "you call from 10.77.0.2: start with --public-url"),
        ("http://[fe80::1]:8101/mcp", "10.77.0.2", "you call from 10.77.0.2: start with --public-url"),
    ],
)
async def test_an_endpoint_is_where_its_agent_calls_from(
    office: OfficeMaker, endpoint: str, caller: str, problem: str | None
) -> None:
    here = office()
    CALLER_ADDRESS.set((caller, 4711))
    answer = await here.register("Agent", endpoint)
    if problem is None:
        assert answer["status"] == "ACCEPTED"
    else:
        assert_rejected(answer, "Invalid MCP endpoint")
        assert problem in answer["detail"]


async def test_where_others_can_call_the_manager_nobody_returns_without_token(home: Path) -> None:
    settings = ConfigLoader(home, {}).load_system()
    for host, is_alone in (("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False), ("10.77.0.1", False)):
        plan = ManagerPlan(ManagerSettings(settings, ConfigLoader(home, {}).load_league(), home, 2, 1), 1, host)
        rules = plan.make_agent(HttpCarrier(), AgentListeners()).state.roster.rules
        assert (rules.allows_tokenless_return, rules.allows_referee_tokens) == (is_alone, is_alone)


@pytest.mark.parametrize("game_types", [[], ["chess"], ["EVEN_ODD"], ["even_odd "]])
@pytest.mark.parametrize("role", ["player", "referee"])
async def test_an_agent_that_does_not_play_the_leagues_game_is_rejected(
    office: OfficeMaker, role: str, game_types: list[str]
) -> None:
    answer = await office().register("Agent", address(1), role=role, game_types=game_types)
    assert_rejected(answer, "Unsupported game type", role)


@pytest.mark.parametrize("game_types", [["*"], ["chess", "*"]])
@pytest.mark.parametrize("role", ["player", "referee"])
async def test_an_agent_that_takes_any_game_is_admitted_to_every_league(
    office: OfficeMaker, role: str, game_types: list[str]
) -> None:
    answer = await office().register("Agent", address(1), role=role, game_types=game_types)
    assert answer["status"] == "ACCEPTED"


async def test_a_player_of_001_that_takes_any_game_is_admitted_too(office: OfficeMaker) -> None:
    here = office()
    request = v1("LEAGUE_REGISTER_REQUEST")
    meta = {**request["player_meta"], "game_types": ["*"], "contact_endpoint": "mcp://localhost:8101/alpha"}
    _, body = await here.network.exchange(MANAGER, json.dumps({**request, "player_meta": meta}).encode(), 10)
    assert json.loads(body)["status"] == "ACCEPTED"


async def test_one_fitting_game_among_several_is_enough(office: OfficeMaker) -> None:
    assert (await office().register(game_types=["chess", "even_odd"]))["status"] == "ACCEPTED"


@pytest.mark.parametrize("role", ["player", "referee"])
async def test_a_name_that_is_taken_is_rejected(office: OfficeMaker, role: str) -> None:
    here = office()
    assert (await here.register("Twin", address(1), role=role))["status"] == "ACCEPTED"
    assert_rejected(await here.register("Twin", address(2), role=role), "Duplicate display name", role)


@pytest.mark.parametrize("name", ["P01", "REF01", "league_manager", "League Manager", "player_001"])
async def test_a_name_that_is_an_id_or_a_role_is_rejected(office: OfficeMaker, name: str) -> None:
    here = office()
    assert_rejected(await here.register(name, address(1)), "Duplicate display name")
    assert (await here.register("Own Name", address(1)))["status"] == "ACCEPTED"


async def test_a_look_alike_of_a_name_that_is_taken_is_rejected(office: OfficeMaker) -> None:
    here = office()
    assert (await here.register("Agent Alpha", address(1)))["status"] == "ACCEPTED"
    for alike in ("\u0410gent Alpha", "Agent A1pha", "AGENT ALPHA"):
        assert_rejected(await here.register(alike, address(2)), "Duplicate display name")


async def test_a_new_player_is_rejected_after_the_start_and_a_referee_is_not(office: OfficeMaker) -> None:
    here = office()
    await started(here)
    assert_rejected(await here.register("Latecomer", address(40)), "Registration closed")
    answer = await here.register("Latecomer", address(41), role="referee")
    assert (answer["status"], answer["referee_id"]) == ("ACCEPTED", "REF02")
    assert {member.state for member in here.manager.state.roster.list_members(Role.REFEREE)} == {AgentState.ACTIVE}


async def test_a_new_player_is_rejected_after_the_end_and_a_referee_is_told_of_it(office: OfficeMaker) -> None:
    here = office()
    await here.play(2)
    assert_rejected(await here.register("Latecomer", address(40)), "Registration closed")
    late = await here.seat_referee()
    assert await within(late.wait_for_calls("notify_league_completed"))
    member = here.manager.state.roster.get(late.referee_id)
    assert member is not None
    assert member.state is AgentState.SHUTDOWN


async def test_an_organiser_who_closes_the_registration_keeps_out_players_alone(office: OfficeMaker) -> None:
    here = office()
    await here.manage("CLOSE_REGISTRATION")
    assert_rejected(await here.register("Latecomer", address(40)), "Registration closed")
    assert (await here.register("Latecomer", address(41), role="referee"))["status"] == "ACCEPTED"


async def test_a_full_league_rejects_players_and_still_takes_referees(office: OfficeMaker) -> None:
    here = office({"participants.max_players": 2})
    await admitted(here, 1)
    await admitted(here, 2)
    assert_rejected(await here.register("Agent 3", address(3)), "League full")
    assert (await here.register("Referee", address(50), role="referee"))["status"] == "ACCEPTED"


async def test_who_can_not_register_is_told_of_once_however_often_it_knocks(office: OfficeMaker) -> None:
    here = office()
    for _ in range(3):
        await here.register("Agent 1", "nowhere")
        await here.register("Agent 2", address(2), version=7)
        await here.register("Agent 3", address(3), version=7, sender=None)
    assert [(event.who, event.why[:4]) for event in here.events if isinstance(event, RegistrationRefused)] == [
        ("Agent 1", "Inva"),
        ("player:alpha", "E002"),
        ("player:Agent 3", "E002"),
    ]


async def test_a_rejected_application_leaves_no_trace(office: OfficeMaker) -> None:
    here = office()
    await here.register("Agent 1", "nowhere", sender="player:P01")
    assert [type(event) for event in here.events] == [RegistrationRefused]
    assert (await admitted(here, 1))["player_id"] == "P01"


@pytest.mark.parametrize("version", ["1.0.0", "1.9.9", "0.0.1", "1.999.999"])
@pytest.mark.parametrize("role", ["player", "referee"])
async def test_an_agent_with_an_older_protocol_version_is_refused_with_e018(
    office: OfficeMaker, role: str, version: str
) -> None:
    answer = await office().register("Agent", address(1), role=role, protocol_version=version)
    assert_error(answer, "E018")
    assert (answer["context"]["expected"], answer["context"]["received"]) == ("2.0.0", version)


@pytest.mark.parametrize("version", ["2.0.0", "2.1.0", "2.10.0", "10.0.0", None])
async def test_an_agent_with_a_current_or_undeclared_version_is_accepted(
    office: OfficeMaker, version: str | None
) -> None:
    assert (await office().register("Agent", address(1), protocol_version=version))["status"] == "ACCEPTED"


@pytest.mark.parametrize("version", ["two", "", "2", "2.1", "v2.1.0", "-1.0.0"])
async def test_a_version_that_cannot_be_read_is_refused_with_e002(office: OfficeMaker, version: str) -> None:
    assert_error(await office().register("Agent", address(1), protocol_version=version), "E002")


@pytest.mark.parametrize("word", ["\x1b]0;pwned\x07", "1.0\n2.0", "1.0\u202e"])
@pytest.mark.parametrize("field", ["version", "game_types"])
async def test_a_version_or_a_game_that_a_terminal_would_obey_is_refused_with_e002(
    office: OfficeMaker, field: str, word: str
) -> None:
    meta = {"version": word} if field == "version" else {"game_types": ["even_odd", word]}
    assert_error(await office().register("Agent", address(1), **meta), "E002")


@pytest.mark.parametrize("sender", ["referee:REF01", "league_manager"])
async def test_only_a_player_may_register_as_a_player(office: OfficeMaker, sender: str) -> None:
    answer = await office().register("Agent", address(1), sender=sender)
    assert_error(answer, "E002")
    assert answer["context"]["field"] == "sender"


async def test_a_registration_for_another_league_is_refused_with_e008(office: OfficeMaker) -> None:
    here = office()
    meta = {"display_name": "A", "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": address(1)}
    request = {"player_meta": meta, "league_id": "league_1999"}
    answer = await here.say("register_player", "LEAGUE_REGISTER_REQUEST", "player:alpha", **request)
    assert_error(answer, "E008")


async def test_a_player_with_its_token_comes_back_under_its_old_id(office: OfficeMaker) -> None:
    here = office(OPEN_NETWORK)
    first = await admitted(here, 1)
    await admitted(here, 2)
    again = await here.register("Agent 1", address(1), token=first["auth_token"])
    assert (again["status"], again["player_id"]) == ("ACCEPTED", "P01")
    assert again["auth_token"] != first["auth_token"]
    assert here.events[-1] == AgentRegistered(Role.PLAYER, "P01", "Agent 1", address(1), returned=True)


async def test_a_player_with_its_token_may_bring_a_new_endpoint_and_a_new_name(office: OfficeMaker) -> None:
    here = office(OPEN_NETWORK)
    first = await admitted(here, 1)
    again = await here.register("Agent One", address(77), token=first["auth_token"], sender="player:P01")
    assert again["player_id"] == "P01"
    player = here.manager.state.roster.players()["P01"]
    assert (player.endpoint, player.display_name) == (address(77), "Agent One")
    assert [row.display_name for row in here.manager.state.standings()] == ["Agent One"]


async def test_a_name_that_was_given_up_is_free_and_the_new_one_is_taken(office: OfficeMaker) -> None:
    here = office(OPEN_NETWORK)
    first = await admitted(here, 1)
    await here.register("Agent One", address(1), token=first["auth_token"], sender="player:P01")
    assert_rejected(await here.register("agent  ONE", address(2)), "Duplicate display name")
    assert (await here.register("Agent 1", address(3)))["player_id"] == "P02"


async def test_players_stand_in_the_order_of_their_ids_whenever_they_came(office: OfficeMaker) -> None:
    here = office()
    for number in (12, 3, 100, 7):
        await admitted(here, number, sender=f"player:P{number:02}")
    assert list(here.manager.state.roster.players()) == ["P03", "P07", "P12", "P100"]
    assert [member.agent_id for member in here.manager.state.roster.list_members(Role.PLAYER)] == [
        "P03",
        "P07",
        "P12",
        "P100",
    ]


async def test_the_old_token_ends_when_a_new_one_is_given(office: OfficeMaker) -> None:
    here = office()
    first = (await admitted(here, 1))["auth_token"]
    second = (await here.register("Agent 1", address(1), token=first))["auth_token"]
    assert await is_valid(here, "P01", second)
    assert not await is_valid(here, "P01", first)
    assert_error(await here.register("Agent 1", address(1), token=first), "E012")


async def test_a_player_with_its_token_comes_back_after_the_start_with_a_new_endpoint_and_name(
    office: OfficeMaker,
) -> None:
    here = office(OPEN_NETWORK)
    player = await started(here)
    again = await here.register("Agent One", address(77), token=player.token)
    assert (again["status"], again["player_id"]) == ("ACCEPTED", "P01")
    assert here.manager.state.roster.players()["P01"].endpoint == address(77)
    names = {row.player_id: row.display_name for row in here.manager.state.standings()}
    assert names["P01"] == "Agent One"


async def test_a_player_with_its_token_comes_back_after_the_end(office: OfficeMaker) -> None:
    here = office(OPEN_NETWORK)
    player = (await here.play(2))[0]
    again = await here.register(player.name, address(77), token=player.token)
    assert (again["status"], again["player_id"]) == ("ACCEPTED", "P01")


async def test_a_referee_with_its_token_comes_back_after_the_start(office: OfficeMaker) -> None:
    here = office(OPEN_NETWORK)
    await started(here)
    referee = here.referees[0]
    again = await here.register(referee.name, address(77), role="referee", token=referee.token)
    assert (again["status"], again["referee_id"]) == ("ACCEPTED", "REF01")


async def test_a_full_league_takes_back_who_belongs_to_it(office: OfficeMaker) -> None:
    here = office({"participants.max_players": 2})
    token = (await admitted(here, 1))["auth_token"]
    await admitted(here, 2)
    assert (await here.register("Agent 1", address(9), token=token))["player_id"] == "P01"


async def test_coming_back_does_not_reset_what_was_won(office: OfficeMaker) -> None:
    here = office()
    players = await here.seat_players(2)
    await here.seat_referee()
    await here.start()
    await here.completed()
    before = here.manager.state.standings()
    await here.register(players[0].name, players[0].endpoint, token=players[0].token)
    assert here.manager.state.standings() == before
    assert sum(row.points for row in before) == 3


async def test_a_suspended_player_that_comes_back_is_active_again(office: OfficeMaker) -> None:
    here = office()
    player = await started(here)
    here.manager.state.adopt_failure_count("P01", 5)
    member = here.manager.state.roster.get("P01")
    assert member is not None
    assert member.is_suspended
    await here.register(player.name, player.endpoint, token=player.token)
    assert (member.state, member.breaker.failures) == (AgentState.ACTIVE, 0)


async def test_a_token_of_somebody_else_is_refused_with_e012(office: OfficeMaker) -> None:
    """Whoever holds P01's token and claims to be the registered P02 is not believed."""
    here = office()
    token = (await admitted(here, 1))["auth_token"]
    await admitted(here, 2)
    answer = await here.register("Agent 2", address(2), token=token, sender="player:P02")
    assert_error(answer, "E012")
    assert token not in str(answer)
    assert here.manager.state.roster.players()["P02"].endpoint == address(2)


async def test_somebody_elses_name_cannot_be_taken_with_ones_own_token(office: OfficeMaker) -> None:
    here = office()
    token = (await admitted(here, 1))["auth_token"]
    await admitted(here, 2)
    assert_rejected(await here.register("Agent 2", address(1), token=token), "Duplicate display name")


@pytest.mark.parametrize("role", ["player", "referee"])
async def test_an_empty_token_is_none_and_noted(office: OfficeMaker, role: str) -> None:
    here = office()
    answer = await here.register("Agent 1", address(1), role=role, token="")
    assert answer["status"] == "ACCEPTED"
    member = here.manager.state.roster.get(answer[f"{role}_id"])
    assert member is not None
    assert member.protocol_profile.deviations == ("an empty 'auth_token'",)
    again = await here.register("Agent 1", address(1), role=role, token="")
    assert (again["status"], again[f"{role}_id"]) == ("ACCEPTED", answer[f"{role}_id"])


@pytest.mark.parametrize(
    ("meta", "noted"),
    [
        ({"version": None}, "no 'version'"),
        ({"version": ""}, "no 'version'"),
        ({"protocol_version": "league.v2"}, "'protocol_version' 'league.v2' for '2.0.0'"),
    ],
)
async def test_a_version_that_is_missing_or_says_the_protocol_is_taken_and_noted(
    office: OfficeMaker, meta: dict[str, Any], noted: str
) -> None:
    here = office()
    assert (await here.register("Agent 1", address(1), **meta))["status"] == "ACCEPTED"
    member = here.manager.state.roster.get("P01")
    assert member is not None
    assert member.protocol_profile.deviations == (noted,)
    assert member.agent.version == ("unknown" if "version" in meta else "1.0.0")


@pytest.mark.parametrize(
    ("told", "code"),
    [({"token": ""}, "E012"), ({"version": None}, "E002"), ({"protocol_version": "league.v2"}, "E002")],
)
async def test_a_strict_league_takes_none_of_these(office: OfficeMaker, told: dict[str, Any], code: str) -> None:
    here = office(overrides={"tolerance.strict": True})
    assert_error(await here.register("Agent 1", address(1), **told), code)


@pytest.mark.parametrize("token", ["tok-p01-abc", "tok-p99-" + "0" * 64, "x" * 10_000, "tök"])
async def test_an_unknown_token_is_refused_with_e012(office: OfficeMaker, token: str) -> None:
    here = office()
    await admitted(here, 1)
    assert_error(await here.register("Agent 1", address(1), token=token), "E012")


async def test_a_players_token_does_not_make_a_referee(office: OfficeMaker) -> None:
    here = office()
    token = (await admitted(here, 1))["auth_token"]
    assert_error(await here.register("Referee", address(50), role="referee", token=token), "E012")


async def test_without_token_the_same_name_at_the_same_endpoint_gets_its_id_and_a_new_token(
    office: OfficeMaker,
) -> None:
    here = office()
    first = await admitted(here, 1)
    again = await admitted(here, 1)
    assert again["player_id"] == first["player_id"] == "P01"
    assert not await is_valid(here, "P01", first["auth_token"])
    assert await is_valid(here, "P01", again["auth_token"])


async def test_without_token_the_same_name_comes_back_also_after_the_start(office: OfficeMaker) -> None:
    here = office()
    player = await started(here)
    assert (await here.register(player.name, player.endpoint))["player_id"] == "P01"


async def test_without_token_another_endpoint_is_a_duplicate_name(office: OfficeMaker) -> None:
    here = office()
    first = await admitted(here, 1)
    assert_rejected(await here.register("Agent 1", address(9)), "Duplicate display name")
    assert await is_valid(here, "P01", first["auth_token"])


@pytest.mark.parametrize(
    ("overrides", "allowed"),
    [
        ({}, True),
        ({"security.allow_tokenless_return": False}, False),
        (OPEN_NETWORK, False),
        ({"network.allowed_hosts": ["localhost", "192.168.1.10"]}, False),
        ({**OPEN_NETWORK, "security.allow_tokenless_return": True}, True),
        ({"network.allowed_hosts": ["localhost", "127.0.0.53"]}, True),
    ],
)
async def test_a_return_without_token_is_a_matter_of_settings(
    office: OfficeMaker, overrides: dict[str, Any], allowed: bool
) -> None:
    here = office(overrides)
    first = await admitted(here, 1)
    again = await here.register("Agent 1", address(1))
    if allowed:
        assert again["player_id"] == "P01"
    else:
        assert_rejected(again, "Duplicate display name")
    assert await is_valid(here, "P01", first["auth_token"]) is not allowed


async def test_with_tokens_turned_off_an_own_token_still_proves_who_one_is(office: OfficeMaker) -> None:
    here = office({"security.enable_auth_tokens": False})
    token = (await admitted(here, 1))["auth_token"]
    assert (await here.register("Agent 1", address(9), token=token))["player_id"] == "P01"


async def test_with_tokens_turned_off_a_wrong_token_is_not_looked_at(office: OfficeMaker) -> None:
    here = office({"security.enable_auth_tokens": False})
    assert (await here.register("Agent 1", address(1), token="tok-p01-wrong"))["status"] == "ACCEPTED"
