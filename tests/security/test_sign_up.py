"""Sign-up keys under attack: whose key does what, and where a key never stands."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from agent_league.agent.sign_up_team import SIGN_UP_TEAM
from agent_league.league.roster import RegistrationRejected
from agent_league.model.events import AgentRegistered
from agent_league.storage.access import create_key
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import utc_timestamp
from agent_league.text import redact_keys, redact_lines, redact_tokens
from agent_league.web.sign_up_app import TRY_BURST
from tests.security.classroom import Classroom, classroom
from tests.security.stage import files_in


def revoke(room: Classroom, team_id: str) -> None:
    rows = [row for row in room.access.read_teams(room.league_id) if row.team_id == team_id]
    room.access.write_teams([replace(row, key_sha256=None) for row in rows])


async def test_a_key_registers_its_team_and_no_other_way_leads_in(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        first, second = room.add_team("T01"), room.add_team("T02")
        answer = await room.register("Alpha", first, port=8101)
        assert (answer["status"], answer["player_id"]) == ("ACCEPTED", "P01")
        assert room.manager.state.roster["P01"].team_id == "T01"
        flat = {"agent_type": "player", "display_name": "Beta", "version": "1.0.0", "game_types": ["even_odd"]}
        reply = await room.visitor.post(f"/join/{second}/register", {**flat, "endpoint": "http://127.0.0.1:8102/mcp"})
        assert reply.status == 200, reply.text
        stranger = await room.register("Mallory", port=8103)
        assert (stranger["status"], stranger["reason"][:19]) == ("REJECTED", "Registration closed")
        assert room.manager.state.roster["P02"].team_id == "T02"


async def test_an_open_league_takes_anybody_beside_the_teams(tmp_path: Path) -> None:
    for folder, overrides, is_loopback_only in (
        ("file", {"registration": "open"}, False),
        ("loopback", {}, True),
        ("no roster", {}, False),
    ):
        async with classroom(tmp_path / folder, overrides, is_loopback_only=is_loopback_only) as room:
            if folder != "no roster":
                room.add_team("T01")
            assert (await room.register("Anybody"))["status"] == "ACCEPTED", folder
    async with classroom(tmp_path / "keys", {"registration": "keys"}, is_loopback_only=True) as room:
        assert (await room.register("Anybody"))["status"] == "REJECTED"


async def test_a_team_replaces_its_agent_and_nobody_else_s(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key, other = room.add_team("T01"), room.add_team("T02")
        before = await room.register("Alpha", key, port=8101)
        after = await room.register("Alpha Two", key, port=8105, version="2.0.0", auth_token="tok-p02-" + "a" * 40)
        assert after["player_id"] == before["player_id"] == "P01"
        assert after["auth_token"] != before["auth_token"]
        member = room.manager.state.roster["P01"]
        assert (member.agent.display_name, member.agent.endpoint) == ("Alpha Two", "http://127.0.0.1:8105/mcp")
        assert [(one.number, one.display_name, one.version) for one in member.versions] == [
            (1, "Alpha", "1.0.0"),
            (2, "Alpha Two", "2.0.0"),
        ]
        told = [event.new_version for event in room.events if isinstance(event, AgentRegistered)]
        assert told == [0, 2]
        assert (await room.register("Alpha Two", other, port=8106))["reason"].startswith("Duplicate display name")
        # the token of another team's agent, shown through one's own key, gives nothing
        mine = await room.register("Beta", other, port=8107, auth_token=after["auth_token"])
        assert mine["player_id"] == "P02"
        query = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_QUERY",
            "sender": "player:P01",
            "timestamp": utc_timestamp(),
            "conversation_id": "c",
            "query_type": "GET_STANDINGS",
            "query_params": {},
        }
        for token, code in ((before["auth_token"], "E012"), (None, "E011")):
            said = {**query, "auth_token": token} if token else query
            answer = orjson.loads((await room.call("league_query", said, key)).text)["result"]
            assert answer["error_code"] == code, "the old token ended, and a key is none"


async def test_unknown_revoked_and_replaced_keys_get_the_same_answer(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        replaced, revoked = room.add_team("T01"), room.add_team("T02")
        assert (await room.register("Alpha", replaced))["status"] == "ACCEPTED"
        room.add_team("T01")
        revoke(room, "T02")
        answers = [await room.register("Beta", key) for key in (create_key(), replaced, revoked, "x", "key-")]
        assert {(reply.status, reply.text) for reply in answers} == {(403, answers[0].text)}
        for reply in answers:
            assert reply.headers["referrer-policy"] == "no-referrer"
            assert reply.headers["cache-control"] == "no-store"


async def test_a_person_with_a_wrong_key_gets_a_page_and_learns_no_more_than_a_program(
    tmp_path: Path,
) -> None:
    async with classroom(tmp_path) as room:
        pages = [
            await room.visitor.get(f"/join/{key}", accept="text/html") for key in (create_key(), "key-" + "a" * 26)
        ]
        assert {page.status for page in pages} == {403}
        assert pages[0].text == pages[1].text
        assert pages[0].text.startswith("<!doctype html>")
        assert "it is mistyped, or was replaced; ask the organiser for yours." in pages[0].text
        assert pages[0].headers["referrer-policy"] == "no-referrer"
        assert "<html" not in (await room.visitor.get(f"/join/{create_key()}")).text


async def test_a_connection_that_outlasts_its_key_registers_nobody_any_more(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        team = await room.manager.sign_up.find_team(key)
        assert team is not None
        held = SIGN_UP_TEAM.set(team)  # as a dial-out seat keeps it
        try:
            await room.manager.sign_up.require_valid_key()
            room.add_team("T01")
            with pytest.raises(RegistrationRejected, match="the key of your team has ended"):
                await room.manager.sign_up.require_valid_key()
        finally:
            SIGN_UP_TEAM.reset(held)


async def test_a_taken_name_doesn_t_tell_whose_it_is_where_names_are_hidden(tmp_path: Path) -> None:
    for visibility, is_told in (("pseudonyms", False), ("everything", True)):
        async with classroom(tmp_path / visibility, {"visibility": visibility}) as room:
            first, second = room.add_team("T01"), room.add_team("T02")
            await room.register("Ada", first)
            answer = await room.register("Ada", second, port=8102)
            assert ("P01" in str(answer)) is is_told


async def test_a_student_can_t_be_a_referee(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key, referee_key = room.add_team("T01"), room.add_team("referees", "referee")
        local = DataPaths(tmp_path).referee_key_file(room.league_id).read_text().strip()
        for bad in (key, None):
            answer = await room.register("Whistle", bad, "referee", port=8010)
            assert answer["status"] == "REJECTED", bad
        first = await room.register("Referee 1", referee_key, "referee", port=8011)
        second = await room.register("Referee 2", local, "referee", port=8012)
        assert first["status"] == second["status"] == "ACCEPTED"
        assert (await room.register("Player", referee_key))["status"] == "REJECTED"
        assert (await room.register("Player", local))["status"] == "REJECTED"
        again = await room.register("Referee 1", None, "referee", port=8020, auth_token=first["auth_token"])
        assert again["status"] == "ACCEPTED", "a referee with its own token comes back without a key"
    async with classroom(tmp_path / "alone", is_loopback_only=True) as room:
        assert (await room.register("Referee", None, "referee", port=8011))["status"] == "ACCEPTED"
        assert not DataPaths(room.home).referee_key_file(room.league_id).exists()


@pytest.mark.parametrize(
    "path",
    [
        *("/join", "/join/", "/join//mcp", "/join/{key}/..", "/join/{key}/../mcp", "/join/{key}/./mcp"),
        *("/join/{key}%2fmcp", "/join/{key}/%2e%2e/mcp", "/join/..%2f..%2fmcp", "/join/{key}/mcp/", "/join/{key}/join"),
        *("/join/{key}/join/{key}/mcp", "/join/{key}/metrics", "/join/{key}/health", "/join/{key}\\mcp"),
        *("/join/{key}/seats/P01/mcp", "/join/{key}/matches/R1M1", "//join/{key}/mcp", "/join/{key}//mcp"),
    ],
)
async def test_a_path_that_could_mean_another_leads_nowhere(tmp_path: Path, path: str) -> None:
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        reply = await room.visitor.post(path.format(key=key), {"jsonrpc": "2.0", "method": "get_standings", "id": 1})
        assert reply.status in (403, 404, 405), reply.text
        assert key not in reply.text


async def test_a_flood_of_wrong_keys_is_stopped_and_keeps_nobody_out(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        assert (await room.register("Alpha", key))["status"] == "ACCEPTED"
        tries = [room.visitor.post(f"/join/{create_key()}/mcp", {}) for _ in range(TRY_BURST + 50)]
        statuses = [reply.status for reply in await asyncio.gather(*tries)]
        assert set(statuses) == {403, 429}
        assert statuses.count(403) <= TRY_BURST + 10
        assert (await room.register("Alpha", key))["status"] == "ACCEPTED", "a key that was good here goes on working"


async def test_a_flood_of_sign_ups_by_one_team_is_stopped(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key, other = room.add_team("T01"), room.add_team("T02")
        answers = [await room.register(f"Alpha {at}", key, version=f"{at}.0.0") for at in range(40)]
        refused = [answer for answer in answers if answer.get("error_code") == "E014"]
        assert len(refused) >= 15
        assert len(list(room.manager.state.roster)) == 1
        assert (await room.register("Beta", other, port=8102))["status"] == "ACCEPTED"


async def test_a_session_of_mcp_has_the_team_of_each_request(tmp_path: Path) -> None:
    """The SDK's server is loaded in the context of its first request: that must give nobody a team."""
    about = {"display_name": "Alpha", "version": "1.0.0", "game_types": ["even_odd"]}
    headers = {"accept": "application/json, text/event-stream"}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }

    async def register(room: Classroom, path: str, name: str, port: int, session: str = "") -> Any:
        meta = {**about, "display_name": name, "contact_endpoint": f"http://127.0.0.1:{port}/mcp"}
        params = {"name": "register_player", "arguments": {"player_meta": meta, "sender": f"player:{name}"}}
        frame = {"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": 2}
        extra = {"mcp_session_id": session} if session else {}
        return await room.visitor.post(path, frame, mcp_protocol_version="2025-06-18", **headers, **extra)

    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        opened = await room.visitor.post(
            f"/join/{key}/mcp", {"jsonrpc": "2.0", "method": "initialize", "params": hello, "id": 1}, **headers
        )
        session = opened.headers["mcp-session-id"]
        reply = await register(room, f"/join/{key}/mcp", "Alpha", 8101, session)
        assert "P01" in reply.text
        for path in ("/mcp",):
            reply = await register(room, path, "Mallory", 8102, session)
            assert "Registration closed" in reply.text
        opened = await room.visitor.post(
            "/mcp", {"jsonrpc": "2.0", "method": "initialize", "params": hello, "id": 1}, **headers
        )
        reply = await register(room, "/mcp", "Mallory", 8102, opened.headers["mcp-session-id"])
        assert "Registration closed" in reply.text
        assert [member.agent_id for member in room.manager.state.roster] == ["P01"]


async def test_a_key_stands_in_no_file_page_metric_or_answer(tmp_path: Path) -> None:
    async with classroom(tmp_path, {"logging.level": "DEBUG"}) as room:
        key = room.add_team("T01")
        loud = f"http://127.0.0.1/join/{key}/mcp {key}"
        answers = [
            await room.call("register_player", {"note": loud, "sender": loud, key: key}, key),
            await room.call(loud, {}, key),
            await room.visitor.post(f"/join/{key}/mcp", loud.encode()),
            await room.visitor.post(f"/join/{key}/mcp", b"{}", content_type="text/" + key),
            await room.visitor.get(f"/join/{key}/mcp"),
        ]
        assert (await room.register("Alpha", key))["status"] == "ACCEPTED"
        await room.register(f"of /join/{key}", key, version="2", contact_endpoint=f"http://127.0.0.1:81/join/{key}/mcp")
        shown = [await room.visitor.get(path) for path in ("/metrics", "/", "/players", "/players/P01", "/health")]
        for reply in (*answers[:0], *shown):
            assert key not in reply.text
    found = [path for path in files_in(tmp_path) if key.encode() in path.read_bytes()]
    assert [path.relative_to(tmp_path).as_posix() for path in found if "league.db" not in path.name] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://h/join/key-abc/mcp", "http://h/join/[key]/mcp"),
        ("https://h/base/leagues/x/join/k3y?a=1", "https://h/base/leagues/x/join/[key]?a=1"),
        ("GET%20%2Fjoin%2Fsecret%2Fmcp", "GET%20%2Fjoin%2F[key]%2Fmcp"),
        ("'/join/x'", "'/join/[key]'"),
        ("my key-" + "a" * 26 + " is mine", "my [key] is mine"),
        ("/JOIN/KEY", "/JOIN/[key]"),
        ("/join/[key]/mcp", "/join/[key]/mcp"),
        ("monkey-business, key-note, join us", "monkey-business, key-note, join us"),
    ],
)
def test_a_key_is_redacted_wherever_it_stands(text: str, expected: str) -> None:
    assert redact_keys(text) == expected
    assert redact_tokens({"a": [text], text: 1}) == {"a": [expected], expected: 1}
    line = orjson.dumps({"message": {"text": text}}) + b"\n"
    assert redact_lines([line]) == line.replace(text.encode(), expected.encode())
