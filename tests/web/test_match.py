"""The page of a match: head, steps and conversation of real matches, and nothing of one that is not over."""

import html
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent_league.clock import format_duration
from agent_league.errors import PeerUnreachable
from agent_league.games.registry import load_game
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import play_in_process, run_agents
from agent_league.league.app import LeagueManager
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.storage.files import write_json
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import Params, ScriptedPlayer, never_reply
from agent_league.text import redact_addresses
from agent_league.web import conversation as conversation_module
from agent_league.web.conversation import LONGEST_JSON, MOST_ENTRIES, format_json, read_conversation
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import PageNotFound
from agent_league.web.pages import read_page_data, render_page
from agent_league.web.pages.match import MATCH_PAGE, MOST_STEPS
from agent_league.web.rendering import FileSite, LiveSite, Site
from agent_league.web.thinking_times import list_move_times
from tests.conftest import FAST, PlanMaker, free_ports
from tests.games.test_built_in import GAMES
from tests.harm import SCRIPT
from tests.referee.tampering import ODD_VALUES
from tests.web.seasons import reader_of, season_of


def page(reader: LeagueReader, key: str = "R1M1", site: Site | None = None) -> str:
    site = site or LiveSite()
    return render_page(MATCH_PAGE, read_page_data(MATCH_PAGE, key, reader, site), site)


def words(text: str) -> str:
    """What stands in a page, without its elements."""
    body = text.partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


@pytest.mark.parametrize("game_type", GAMES)
async def test_a_match_of_any_game_is_drawn_step_by_step(plan: PlanMaker, home: Path, game_type: str) -> None:
    manager, _ = await play_in_process(plan(players=2, referees=1, game=game_type, seed="5", strategies=("random",)))
    reader = reader_of(manager.state, home)
    text, told = page(reader), words(page(reader))
    assert load_game(game_type).title in told
    steps = re.findall(r'<li class="step" id="step-(\d+)"', text)
    assert steps == [str(number) for number in range(len(steps))]
    assert text.count('<div class="scene">') == len(steps) > 1
    assert "<pre class=" not in text
    file = json.loads(reader.paths.match_file(manager.state.league_id, "R1M1").read_text())
    assert file["result"]["reason"] in told
    assert file["draw"]["seed"] in told
    assert file["draw"]["commitment"] in told
    assert f"league verify data/matches/{manager.state.league_id}/R1M1.json" in told
    assert f"{len([line for line in file['transcript'] if line['direction'] != 'drawn'])} messages" in told
    assert ("Rounds" in told) is ("rounds" in str(manager.state.results["R1M1"].details) or "round 1" in told)


@dataclass
class Trouble:
    """A league of two in which a guest, whose name is a script, is silent once and illegal once."""

    reader: LeagueReader
    file: dict[str, Any]
    guest_id: str


@pytest.fixture
async def trouble(plan: PlanMaker, home: Path) -> Trouble:
    planned = plan(FAST, players=2, referees=1, strategies=("always_even",), seed="3")
    network = MemoryNetwork()
    tries = iter([never_reply, "Even", "odd"])

    async def choose(params: Params) -> Any:
        one = next(tries)
        if one is never_reply:
            return await never_reply(params)
        return {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": one, "comment": SCRIPT}

    guest = ScriptedPlayer(SCRIPT, "http://localhost:9000/mcp", scripts={"choose_parity": choose})
    network.attach(guest.endpoint, guest.answer)
    async with run_agents(network, planned.agent_plans[:1]) as (manager,):
        assert isinstance(manager, LeagueManager)
        async with run_agents(network, planned.agent_plans[1:-1]):
            await guest.register(network, "http://localhost:8000/mcp")
            await manager.completed.wait()
    reader = reader_of(manager.state, home)
    file = json.loads(reader.paths.match_file(manager.state.league_id, "R1M1").read_text())
    return Trouble(reader, file, guest.player_id)


async def test_retries_errors_and_what_was_put_up_with_are_seen(trouble: Trouble) -> None:
    text, told = page(trouble.reader), words(page(trouble.reader))
    assert "E001" in told
    assert "TIMEOUT_ERROR" in told
    assert "E004" in told
    assert "INVALID_PARITY_CHOICE" in told
    assert "try 2" in told
    assert "try 3" in told
    assert "no answer" in told
    assert "tolerated: " in told
    side = "ab"[list(trouble.file["players"].values()).index(trouble.guest_id)]
    assert text.count(f'class="message {side} back bad"') == 2
    assert text.count(f'class="message {side} out bad"') == 2
    assert text.count(" bad") == 4
    for state in ("waiting for players", "collecting moves", "drawing", "finished"):
        assert f'<li class="divider"><span>{state}</span></li>' in text
    failed = re.findall(r'<li class="message . back bad">(.*?)</li>', text, re.DOTALL)
    assert ["E001" in failed[0], "E004" in failed[1]] == [True, True]


async def test_nobody_s_address_is_told(trouble: Trouble) -> None:
    assert "localhost:9000" in str(trouble.file["transcript"])
    assert "localhost:9000" not in page(trouble.reader)
    assert "no answer from its address" in words(page(trouble.reader))


async def test_a_name_and_an_answer_that_are_a_script_do_no_harm(trouble: Trouble) -> None:
    text = page(trouble.reader)
    assert SCRIPT not in text
    assert html.escape(SCRIPT) in text
    assert text.count("<script") == 2
    assert not re.search(r"<[^>]* (style|on\w+)=", text)


async def test_every_message_is_there_in_order_with_its_json(trouble: Trouble) -> None:
    text = page(trouble.reader)
    said = [line for line in trouble.file["transcript"] if line["direction"] != "drawn"]
    assert len(re.findall(r'<li class="message ', text)) == len(said)
    shown = [json.loads(html.unescape(block)) for block in re.findall(r"</summary><pre>(.*?)</pre>", text, re.DOTALL)]
    written = json.dumps([line["message"] for line in said if line["message"] is not None])
    assert shown == json.loads(written.replace("http://localhost:9000/mcp", "its address"))


async def test_a_damaged_file_makes_a_page_all_the_same(trouble: Trouble) -> None:
    path = trouble.reader.paths.match_file(trouble.file["league_id"], "R1M1")
    for name in trouble.file.keys() - {"match_id", "referee_id", "result", "transcript"}:
        for value in ODD_VALUES:
            write_json(path, {**trouble.file, name: value})
            text = page(trouble.reader)
            assert "E001" in text
            assert SCRIPT not in text


async def test_a_file_of_another_match_is_none_of_this_one(trouble: Trouble) -> None:
    write_json(
        trouble.reader.paths.match_file(trouble.file["league_id"], "R1M1"), {**trouble.file, "referee_id": "REF09"}
    )
    assert "What was said is not known here: not in this SHARED folder; referee REF01 keeps it" in words(
        page(trouble.reader)
    )


async def test_an_exported_page_needs_no_server(trouble: Trouble) -> None:
    text = page(trouble.reader, site=FileSite(1))
    assert "data-live" not in text
    links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert links
    assert all(link.startswith(("../", "#")) for link in links)


def test_a_match_that_is_not_over_tells_its_state_and_no_more(home: Path) -> None:
    season = season_of(4, played=0)
    reader = reader_of(season, home)
    season.assign_match("R1M1", "REF01")
    folder = DataPaths(home)
    secret = {"match_id": "R1M1", "moves": [{"P01": "secret"}], "transcript": [{"direction": "sent", "at": "secret"}]}
    write_json(folder.match_file(season.league_id, "R1M1"), secret)
    running, waiting = page(reader), page(reader, "R3M1")
    assert 'data-state="RUNNING" data-live' in running
    assert "Referee 1" in running
    assert "secret" not in running
    assert "The conversation" not in running
    assert 'data-state="PENDING"' in waiting
    assert "not yet given to one" in waiting


def test_a_match_whose_file_is_elsewhere_is_what_the_league_knows(home: Path) -> None:
    season = season_of(2, played=0)
    season.assign_match("R1M1", "REF01")
    details = {"drawn_number": 4, "choices": {"P01": "even", "P02": "odd"}}
    season.record_result(MatchResult("R1M1", 1, ("P01", "P02"), Outcome.WIN, "P01", details), "REF01")
    text, told = page(reader_of(season, home)), words(page(reader_of(season, home)))
    assert text.count('<li class="step"') == 3
    assert "Player 1 beats Player 2" in told
    assert "not in this SHARED folder; referee REF01 keeps it as data/matches/league_of_tests/R1M1.json" in told
    assert "Fair draw" not in told


def test_a_match_that_was_broken_off_or_lost_technically_says_why(home: Path) -> None:
    season = season_of(3, played=0)
    outcomes = {
        "R1M1": ({"P02": Termination.VOID, "P03": Termination.VOID}, {"fault": f"the referee fell {SCRIPT}"}),
        "R2M1": ({"P01": Termination.MOVE_TIMEOUT}, {}),
    }
    for round_, (match_id, (terminations, details)) in zip(season.schedule.rounds, outcomes.items(), strict=False):
        season.begin_round(round_)
        season.assign_match(match_id, "REF01")
        players = round_.pairings[0].players
        ended = dict(zip(players, terminations.values(), strict=False))
        winner = None if len(ended) == 2 else players[1]
        season.record_result(
            MatchResult(match_id, round_.round_id, players, Outcome.TECHNICAL_LOSS, winner, details, ended), "REF01"
        )
        season.complete_round(round_.round_id)
    reader = reader_of(season, home)
    assert f"was aborted: the referee fell {SCRIPT}" in words(page(reader))
    assert SCRIPT not in page(reader)
    told = words(page(reader, "R2M1"))
    assert "didn't answer a question in time" in told
    assert "lost technically" in told


def test_a_match_that_is_not_there_is_told_with_those_that_are(home: Path) -> None:
    with pytest.raises(PageNotFound, match="There is no match 'R9M9' in this league: they are R1M1 to R3M2"):
        page(reader_of(season_of(4), home), "R9M9")
    with pytest.raises(PageNotFound, match="the league has not begun"):
        page(reader_of(season_of(4, started=False), home), "R1M1")


def test_there_is_a_page_for_each_match(home: Path) -> None:
    assert list(MATCH_PAGE.list_keys(reader_of(season_of(3), home))) == ["R1M1", "R2M1", "R3M1"]


async def test_a_long_match_is_cut_where_a_page_would_be_too_long(plan: PlanMaker, home: Path) -> None:
    rounds = MOST_STEPS + 20
    overrides = {"game_parameters": {"repeat": rounds}}
    planned = plan(overrides, players=2, referees=1, game="prisoners_dilemma", strategies=("random",))
    manager, _ = await play_in_process(planned)
    text, told = page(reader_of(manager.state, home)), words(page(reader_of(manager.state, home)))
    assert text.count('<li class="step"') == MOST_STEPS
    assert f"How the first {MOST_STEPS - 1} of {rounds} rounds ended." in told
    assert f"{rounds - MOST_STEPS} earlier rounds are not shown." in told
    assert len(re.findall(r'<li class="(?:message|divider)[ "]', text)) == MOST_ENTRIES + 1
    assert re.search(r"\d+ more lie between these; they are in the file", told)
    assert "GAME_OVER" in text.replace("<wbr>", "").rpartition("more lie between")[2]
    assert len(text) < 700_000


def test_whatever_stands_in_a_transcript_a_conversation_comes_of_it() -> None:
    base = {"at": "2025-01-15T10:00:00.000Z", "direction": "failed", "player_id": "P01", "method": "choose_parity"}
    fields = ("at", "direction", "player_id", "method", "attempt", "latency_ms", "error_code", "error", "message")
    for name in (*fields, "tolerated", "token", "outcome", "step", "state"):
        for value in ODD_VALUES:
            content = {
                "players": value,
                "transcript": [{**base, name: value}, value],
                "lifecycle": [value, {name: value}],
            }
            assert len(read_conversation(content)) >= 1
    for value in ODD_VALUES:
        assert read_conversation({"players": value, "transcript": value, "lifecycle": value}) == []


def test_a_state_stands_before_what_was_said_in_it_also_within_one_millisecond() -> None:
    at = "2025-01-15T10:00:00.000Z"
    states = ("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED")
    lines = [
        {"at": at, "direction": "sent", "player_id": "P01", "method": "handle_game_invitation"},
        {"at": at, "direction": "received", "player_id": "P01", "method": "handle_game_invitation"},
        {"at": at, "direction": "sent", "player_id": "P01", "method": "choose_parity"},
        {"at": at, "direction": "drawn", "outcome": 4},
        {"at": at, "direction": "sent", "player_id": "P01", "method": "notify_match_result"},
    ]
    told = read_conversation({"transcript": lines, "lifecycle": [{"state": state, "at": at} for state in states]})
    kinds = [entry.kind for entry in told]
    assert kinds == ["state", "sent", "received", "state", "sent", "state", "drawn", "state", "sent"]


def test_json_is_pretty_and_stays_json_and_a_huge_message_is_cut() -> None:
    value = {"a": [1, 2, {"b": "x" * 90}], "c": {}, "d": [], "e": {"f": [1, 2, 3]}}
    assert json.loads(format_json(value)) == value
    assert '  "e": {"f": [1, 2, 3]}' in format_json(value)
    line = {"at": "", "direction": "received", "player_id": "P01", "message": {"text": "x" * 50_000, "n": [1] * 500}}
    (entry,) = read_conversation({"transcript": [line]})
    assert len(entry.json) < LONGEST_JSON + 50
    assert entry.json.endswith("... the file has all of it")
    line["message"] = {"rounds": [["cooperate", "defect"]] * 500, "end": 7}
    (entry,) = read_conversation({"transcript": [line]})
    assert '"... 492 more ..."' in entry.json
    assert '"end": 7' in entry.json


def nested(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = {"k": [leaf]}
    return leaf


@pytest.mark.parametrize(
    "message", [nested(29, "x" * 13_000), nested(29, [1] * 6000), {str(one): nested(29, one) for one in range(150)}]
)
def test_what_a_hostile_player_says_costs_no_more_than_what_is_shown(
    message: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, flat = list[int](), conversation_module._flat

    def counted(value: Any) -> str:
        written.append(len(text := flat(value)))
        return text

    monkeypatch.setattr(conversation_module, "_flat", counted)
    line = {"at": "", "direction": "received", "player_id": "P01", "message": message}
    (entry,) = read_conversation({"transcript": [line]})
    assert len(entry.json) < LONGEST_JSON + 50
    assert sum(written) < 2 * LONGEST_JSON


async def test_a_file_that_is_nested_too_deep_or_no_json_is_told_and_the_game_is_shown(trouble: Trouble) -> None:
    path = trouble.reader.paths.match_file(trouble.file["league_id"], "R1M1")
    deep = json.dumps(trouble.file)[:-1] + ', "deep": ' + "[" * 900 + "]" * 900 + "}"
    for content, why in ((deep, "nested more than 150 levels deep"), ("{", "not JSON"), ("[]", "expected a JSON obj")):
        path.write_text(content)
        assert f"{path.name} of this SHARED folder is of no use: {why}" in words(page(trouble.reader))


async def test_a_token_in_somebody_s_file_is_struck_out(trouble: Trouble) -> None:
    trouble.file["transcript"][0]["message"]["note"] = token = f"tok-{'A' * 22}"
    write_json(trouble.reader.paths.match_file(trouble.file["league_id"], "R1M1"), trouble.file)
    assert token not in page(trouble.reader)
    assert "E001" in page(trouble.reader)


async def test_where_a_dead_agent_listened_is_not_told() -> None:
    port = free_ports(1)
    carrier = HttpCarrier()
    try:
        with pytest.raises(PeerUnreachable) as caught:
            await carrier.exchange(f"http://localhost:{port}/mcp", b"{}", 5)
    finally:
        await carrier.close()
    line = {"at": "", "direction": "failed", "player_id": "P01", "error": str(caught.value), "message": None}
    (entry,) = read_conversation({"transcript": [line]})
    assert str(port) not in entry.why
    assert "localhost" not in entry.why
    assert entry.why == "can't reach its address: Connection refused"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("at http://10.0.0.7:8101/mcp: gone", "at its address: gone"),
        (
            "Cannot connect to host player1:8101 ssl:default [Connect call failed ('127.0.0.1', 8101)]",
            "Cannot connect to host its address ssl:default [Connect call failed its address]",
        ),
        ("('::1', 8101, 0, 0)", "its address"),
        ("[::1]:8101 and [fe80::1%eth0]", "its address and its address"),
        ("a.example.org:80, localhost:8101, 192.168.1.20", "its address, its address, its address"),
        ('{"timestamp": "2025-01-15T10:30:00Z", "sender": "player:P01"}', None),
        ('{"protocol": "league.v2", "version": "1.2.3", "board": [0, 1]}', None),
    ],
)
def test_addresses_are_struck_out_and_nothing_else(said: str, shown: str | None) -> None:
    assert redact_addresses(said) == (shown or said)


def test_whoever_moved_in_a_match_that_broke_off_is_shown_with_the_move(home: Path) -> None:
    season = season_of(2, played=0)
    season.assign_match("R1M1", "REF01")
    details, ends = {"choices": {"P01": "odd"}}, {"P02": Termination.MOVE_TIMEOUT}
    season.record_result(MatchResult("R1M1", 1, ("P01", "P02"), Outcome.TECHNICAL_LOSS, "P01", details, ends), "REF01")
    last = page(reader_of(season, home)).rpartition('<li class="step"')[2]
    assert re.search(r'class="tile a"><span class="who">Player 1</span><span class="what">odd</span>', last)
    assert re.search(r'class="tile b blank">', last)


def test_the_matches_before_and_after_are_led_to_by_their_players(home: Path) -> None:
    season = season_of(4, names=["Ada", "Bob"])
    order = [pairing.match_id for pairing in season.schedule.pairings]
    names = {row.player_id: row.display_name for row in season.standings()}
    found = {}
    for match_id in order:
        text = page(reader_of(season, home), match_id)
        links = re.findall(
            r'<a class="(prev|next)" rel="(?:prev|next)" href="/matches/(\w+)">(.*?)</a>', text, re.DOTALL
        )
        for way, other, words_told in links:
            assert [names[one] in words_told for one in season.get_pairing(other).players] == [True, True]
            found[match_id, way] = other
    assert found == {
        **{(here, "next"): there for here, there in pairwise(order)},
        **{(there, "prev"): here for here, there in pairwise(order)},
    }


async def test_players_are_called_by_their_names_also_where_a_referee_wrote_ids(plan: PlanMaker, home: Path) -> None:
    planned = plan({}, players=2, referees=1, game="tic_tac_toe", strategies=("minimax", "random"), seed="7")
    manager, _ = await play_in_process(planned)
    season = manager.state
    reader = reader_of(season, home)
    file = json.loads(reader.paths.match_file(season.league_id, "R1M1").read_text())
    assert re.match(r"P0\d won", file["result"]["reason"])
    told = words(page(reader).partition('id="conversation-title"')[0] + "</main>")
    winner = season.roster.players()[file["result"]["winner_player_id"]].display_name
    assert f"{winner} won after" in told
    assert not re.search(r"\bP0\d\b", told)


async def test_each_move_has_its_thinking_time_and_both_clocks_add_them_up(plan: PlanMaker, home: Path) -> None:
    planned = plan({}, players=2, referees=1, game="tic_tac_toe", strategies=("random",))
    manager, _ = await play_in_process(planned)
    reader = reader_of(manager.state, home)
    path = reader.paths.match_file(manager.state.league_id, "R1M1")
    file = json.loads(path.read_text())
    for number, line in enumerate(line for line in file["transcript"] if "latency_ms" in line):
        line["latency_ms"] = 1000.0 * (number + 1)
    write_json(path, file)
    made = [
        line["latency_ms"] / 1000
        for line in file["transcript"]
        if line.get("method") == "make_move" and "latency_ms" in line
    ]
    text = page(reader)
    took = re.findall(r'<span class="unseen">after </span>([^<]*)</span>', text)
    assert took == [format_duration(seconds) for seconds in made]
    clocks = re.findall(r'data-clock-a="([^"]*)" data-clock-b="([^"]*)"', text)
    assert clocks[0] == ("0 s", "0 s")
    assert clocks[-1] == (format_duration(sum(made[::2])), format_duration(sum(made[1::2])))
    assert "Time for a move 30 s" in words(text)


async def test_each_round_of_a_repeated_game_has_the_thinking_times_of_both(plan: PlanMaker, home: Path) -> None:
    overrides = {"game_parameters": {"repeat": 5}}
    planned = plan(overrides, players=2, referees=1, game="prisoners_dilemma", strategies=("random",))
    manager, _ = await play_in_process(planned)
    reader = reader_of(manager.state, home)
    path = reader.paths.match_file(manager.state.league_id, "R1M1")
    file = json.loads(path.read_text())
    made: dict[str, list[float]] = {}
    for number, line in enumerate(line for line in file["transcript"] if "latency_ms" in line):
        line["latency_ms"] = 1000.0 * (number + 1)
        if line["method"] == "make_move":
            made.setdefault(line["player_id"], []).append(number + 1)
    write_json(path, file)
    took = re.findall(r'<span class="unseen">after </span>([^<]*)</span>', page(reader))
    both = [made[player_id] for player_id in file["players"].values()]
    assert took == [format_duration(seconds) for pair in zip(*both, strict=True) for seconds in pair]
    assert len(took) == 10


def test_a_move_that_was_asked_for_twice_took_the_time_of_both() -> None:
    content = {
        "transcript": [
            {"player_id": "P01", "method": "handle_game_invitation", "direction": "received", "latency_ms": 900},
            {"player_id": "P01", "method": "make_move", "direction": "failed", "latency_ms": 300},
            {"player_id": "P02", "method": "make_move", "direction": "received", "latency_ms": 7},
            {"player_id": "P01", "method": "make_move", "direction": "received", "latency_ms": 20},
            {"player_id": "P01", "method": "make_move", "direction": "received", "latency_ms": "long"},
            "nonsense",
        ]
    }
    assert list_move_times(content, "P01") == [320, 0]
    assert list_move_times({"transcript": 7}, "P01") == []


async def test_when_it_began_is_marked_as_a_time_in_utc(trouble: Trouble) -> None:
    began = str(trouble.file["lifecycle"][0]["at"])[:19]
    shown = f'<time datetime="{began}Z" data-moment>{began.replace("T", " ")} UTC</time>'
    assert shown in page(trouble.reader)


async def test_a_match_within_one_second_took_some_time(trouble: Trouble) -> None:
    path = trouble.reader.paths.match_file(trouble.file["league_id"], "R1M1")
    moments = [{**moment, "at": "2025-01-15T10:30:00Z"} for moment in trouble.file["lifecycle"]]
    write_json(path, {**trouble.file, "lifecycle": moments})
    assert "Took under 1 s, " in words(page(trouble.reader))
