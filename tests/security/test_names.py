"""Attacks by name: what a stranger calls itself reaches no terminal, log or path as anything but letters."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agent_league.cli.league_view import LeagueView, print_event
from agent_league.cli.terminal import draw_standings, print_remark
from agent_league.launch.play_function import print_player_event, print_player_remark
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import AgentRegistered, AgentStateChanged, Event, LeagueCompleted, RoundCompleted
from agent_league.model.results import StandingsRow
from agent_league.players.events import MatchOver
from agent_league.players.observation import GameRecord
from agent_league.storage.credentials import CredentialsFile
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import ScriptedManager, always_reply
from tests.cli.command import environment
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.launch.scripted_guests import served
from tests.league.office import LEAGUE_ID
from tests.security.stage import files_in, staged

HIDDEN = {
    "a colour": "\x1b[31mMallory",
    "a title": "\x1b]0;owned\x07",
    "a bell": "Mallory\x07",
    "a line break": "Mallory\nREF01 registered: Referee",
    "a return": "Mallory\rAgent Alpha",
    "a backspace": "Mallory\x08",
    "a tab": "Mallory\t1",
    "a nul": "Mallory\x00",
    "a delete": "Mallory\x7f",
    "an 8-bit escape": "Mallory\x9b31m",
    "a next line": "Mallory\x85",
    "a line separator": "Mallory\u2028P01",
    "right to left": "Mallory\u202egpj.exe",
    "an isolate": "\u2066Mallory\u2069",
    "no width": "\u200b" * 100,
    "a byte order mark": "\ufeffMallory",
    "a soft hyphen": "Mal\u00adlory",
    "letters of a tag": "Mallory\U000e0041",
    "blanks": "   ",
    "nothing": "",
}
ODD = [
    "Élise Müller",
    "山田太郎",
    "Агент",
    "🎲 Dice",
    "<script>alert(1)</script>",
    "'); DROP TABLE agents;--",
    "[bold red]Mallory[/]",
    "%s {0} ${HOME} $(reboot)",
    "../../../../etc/passwd",
    "league manageress",
    "tok-p01-0123456789",
]
HOSTILE = "".join(HIDDEN.values())


def is_tame(text: str) -> bool:
    """Whether a terminal shows it and does nothing else."""
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("role", ["player", "referee"])
async def test_a_name_that_people_can_not_see_is_refused_with_e002(tmp_path: Path, role: str) -> None:
    async with staged(tmp_path, started=False) as stage:
        before = [member.agent_id for member in stage.manager.state.roster]
        for kind, name in HIDDEN.items():
            answer = await stage.register(role, name, "http://localhost:8199/mcp")
            assert (kind, answer.get("error_code")) == (kind, "E002")
            assert answer["context"]["field"] == f"{role}_meta.display_name"
        assert [member.agent_id for member in stage.manager.state.roster] == before
        await stage.mallory.register(stage.network, stage.endpoints["manager"])
        await stage.start(stage.admin_token)
        await stage.ends_unharmed()
    log = DataPaths(tmp_path).logs_folder / "league" / LEAGUE_ID / "league.log.jsonl"
    assert is_tame(log.read_text())


async def test_half_a_letter_is_no_json(tmp_path: Path) -> None:
    async with staged(tmp_path, started=False) as stage:
        body = b'{"jsonrpc": "2.0", "method": "register_player", "params": {"sender": "player:\\ud800"}, "id": 1}'
        answer = await stage.manager.dispatcher.answer_request(body)
        assert json.loads(answer or b"")["error"]["code"] == -32700


async def test_an_odd_name_is_a_name_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a tag, a path, a statement nor a style; and two that look alike are one."""
    async with staged(tmp_path, started=False) as stage:
        for number, name in enumerate(ODD):
            answer = await stage.register("player", name, f"http://localhost:{8300 + number}/mcp")
            assert answer["status"] == "ACCEPTED"
            alike = await stage.register("player", f" {name.upper()} ", "http://localhost:8299/mcp")
            assert alike["reason"] == "Duplicate display name"
        standings = await stage.call("manager", "get_standings", {})
        assert set(ODD) <= {row["display_name"] for row in standings["standings"]}
        for member in stage.manager.state.roster:
            print_event(
                AgentRegistered(Role.PLAYER, member.agent_id, member.agent.display_name, "http://x", returned=False)
            )
    printed = capsys.readouterr().out
    for name in ODD:
        assert name in printed
    assert not [path for path in files_in(tmp_path) if "passwd" in path.name or "DROP" in path.name]


ROW = StandingsRow(1, "P01", HOSTILE, 3, 3, 0, 0, 9, 1)
END = LeagueCompleted(league_id=LEAGUE_ID, rounds=3, matches=6, standings=(ROW,))
EVENTS: list[Event] = [
    AgentRegistered(Role.PLAYER, "P01", HOSTILE, f"http://localhost/{HOSTILE}", returned=True),
    AgentStateChanged("P01", AgentState.SUSPENDED, HOSTILE),
    RoundCompleted(1, (ROW,)),
    END,
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_a_manager_prints_is_tame_whatever_it_is_told(event: Event, capsys: pytest.CaptureFixture[str]) -> None:
    print_event(event)
    printed = capsys.readouterr().out
    assert "Mallory" in printed
    assert is_tame(printed)


def test_what_a_run_shows_is_tame(plan: PlanMaker, capsys: pytest.CaptureFixture[str]) -> None:
    view = LeagueView(plan(players=2))
    view.show_remark(HOSTILE)
    view.print_summary(END, 1.0)
    printed = capsys.readouterr().out
    assert printed.count("Mallory") > 3
    assert is_tame(printed)


def test_a_table_of_somebody_elses_manager_is_tame(capsys: pytest.CaptureFixture[str]) -> None:
    Console().print(draw_standings([replace(ROW, player_id=f"{HOSTILE}[/b]")], "Table"))
    printed = capsys.readouterr().out
    assert printed.count("Mallory") > 1
    assert is_tame(printed)


def test_what_agents_say_in_their_terminals_is_tame(capsys: pytest.CaptureFixture[str]) -> None:
    print_remark(HOSTILE)
    print_player_remark(HOSTILE)
    print_player_event("P01", MatchOver(GameRecord(HOSTILE, "even_odd", HOSTILE, "WIN", (), ())))
    printed = capsys.readouterr()
    assert "Mallory" in printed.err
    assert "Mallory" in printed.out
    assert printed.err.count("\n") == 2
    assert is_tame(printed.out + printed.err)


@pytest.mark.parametrize("how", ["rejected", "refused", "error"])
async def test_a_manager_of_somebody_elses_can_not_draw_on_a_players_terminal(tmp_path: Path, how: str) -> None:
    """A real `league player` that registers with it, in a process of its own."""
    port = free_ports(2)
    answers: dict[str, Any] = {
        "rejected": {"status": "REJECTED", "reason": HOSTILE, "detail": HOSTILE},
        "refused": {"message_type": "LEAGUE_ERROR", "error_code": "E002", "message": HOSTILE},
        "error": HOSTILE,
    }
    manager = ScriptedManager(f"http://localhost:{port}/mcp", scripts={"register_player": always_reply(answers[how])})
    command = ["player", "--port", port + 1, "--manager", manager.endpoint, "--home", tmp_path / "SHARED"]
    async with served(manager.answer, port), asyncio.timeout(BOUND):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agent_league", *map(str, command)),
            env=environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 1
    assert "Mallory" in err.decode()
    assert is_tame((out + err).decode())


def test_a_log_line_is_one_line_that_a_terminal_can_be_shown(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("told", name=HOSTILE, **{HOSTILE: [HOSTILE]})
    log.close()
    written = log.log_file.read_bytes()
    assert written.count(b"\n") == 1
    assert is_tame(written.decode())
    entry = json.loads(written)
    assert (entry["name"], entry[HOSTILE]) == (HOSTILE, [HOSTILE])


@pytest.mark.parametrize("name", [*HIDDEN.values(), *ODD, "..", "/etc/passwd", "x" * 100, "C:\\x", "CON"])
def test_the_credentials_of_any_name_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    file = CredentialsFile(tmp_path, "player", name, "http://localhost:8101/mcp", "http://localhost:8000/mcp")
    file.save({"auth_token": "x"})
    (written,) = files_in(tmp_path)
    assert written.parent == DataPaths(tmp_path).credentials_folder
    assert written.name.isascii()
    assert file.load() == {"auth_token": "x"}
