"""`league replay`: by id or by file, step by step at a terminal, in one go elsewhere."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.cli.keys import parse_keys
from agent_league.cli.replay import replay as replay_command
from agent_league.cli.replay_view import ReplayedMatch, ReplayViewer, render_conversation
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import UserError
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.league.resume import open_store
from agent_league.referee.replay import replay_match
from agent_league.storage.base import SeasonRow, StoredRow
from agent_league.storage.paths import DataPaths
from agent_league.web.conversation import ConversationEntry
from tests.cli.command import AtTerminal, league
from tests.conftest import BOUND
from tests.web.seasons import season_of

TOE: dict[str, Any] = {
    "match_id": "R1M1",
    "game_type": "tic_tac_toe",
    "players": {"PLAYER_A": "P01", "PLAYER_B": "P02"},
    "moves": [{"P01": 0}, {"P02": 4}, {"P01": 1}],
    "result": {"status": "TECHNICAL_LOSS", "reason": "Technical loss (P02: move timeout)"},
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SHARED folder with a finished league of tic-tac-toe."""
    home = tmp_path_factory.mktemp("played") / "SHARED"
    make_home(home)
    request = LeagueRequest(home=home, players=2, referees=1, game="tic_tac_toe", strategies=("first_legal",))
    asyncio.run(play_in_process(make_league_plan(ConfigLoader(home), request)))
    return home


def file_of(home: Path) -> Path:
    return home / "data/matches/league_tic_tac_toe/R1M1.json"


def test_a_match_is_printed_in_full_where_there_is_no_terminal(played: Path) -> None:
    done = league("replay", "r1m1", "--home", played)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Agent Alpha (A) against Agent Beta (B)" in done.stdout
    steps = re.findall(r"^(?:Start|Step \d+   Agent (?:Alpha|Beta) \d)$", done.stdout, re.MULTILINE)
    moves = json.loads(file_of(played).read_text())["moves"]
    assert len(steps) == 1 + len(moves)
    assert done.stdout.rstrip().endswith(f"P01 won after {len(moves)} moves.")
    assert "\x1b" not in done.stdout


def test_a_file_tells_the_same_and_the_conversation_too(
    played: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    replay_command(str(file_of(played)), json=True)
    as_json = json.loads(capfdbinary.readouterr().out)
    assert [step["moves"] for step in as_json["steps"]][:3] == [{}, {"PLAYER_A": 0}, {"PLAYER_B": 1}]
    assert as_json["steps"][-1]["view"]["winner"] == 0
    assert as_json["shortfall"] is None
    replay_command("R1M1", home=played, conversation=True)
    said = capfdbinary.readouterr().out.decode()
    lines = json.loads(file_of(played).read_text())["transcript"]
    assert len(re.findall(r"^ +\+\d", said, re.MULTILINE)) == len(lines)
    assert "finished" in said


@pytest.mark.parametrize(
    ("match", "sentence"),
    [
        ("R9M9", "There is no match 'R9M9' in this league; there are R1M1 to R1M1."),
        ("R1M1x.json", "R1M1x.json: not a match file: no such file"),
        ("config/system.json", "not a match file: it has no 'game_type'"),
        ("deep.json", "not a match file: nested more than 150 levels deep"),
        ("broken.json", "not a match file: not JSON"),
        ("list.json", "not a match file: expected a JSON object"),
    ],
)
def test_what_is_no_match_is_told_in_a_sentence(
    played: Path, match: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (played / "broken.json").write_text("{")
    (played / "list.json").write_text("[]")
    (played / "deep.json").write_text('{"game_type": "nim", "moves": ' + "[" * 900 + "]" * 900 + "}")
    monkeypatch.chdir(played)
    with pytest.raises(UserError, match=re.escape(sentence)):
        replay_command(match, home=played)


def test_a_match_that_is_not_finished_is_not_shown(home: Path) -> None:
    rows: list[StoredRow] = []
    season = season_of(4, played=1, keep=rows.append)
    store = open_store(home, None)
    created = store.create_season(season.league_id, "2025-01-15T10:00:00Z", "", season.config.model_dump(mode="json"))
    own = [replace(row, season_id=created.season_id) if isinstance(row, SeasonRow) else row for row in rows]
    store.write_rows(created.season_id, own)
    store.close()
    DataPaths(home).league_folder(season.league_id).mkdir(parents=True)
    with pytest.raises(UserError, match=r"R3M1, .* against .*, is not finished; the latest that is: R1M1"):
        replay_command("R3M1", home=home)


def test_what_was_said_in_a_match_without_its_file_is_elsewhere(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(played)
    kept = path.read_bytes()
    path.unlink()
    try:
        replay_command("R1M1", home=played)
        with pytest.raises(
            UserError, match=r"referee REF01 keeps it as data/matches/league_tic_tac_toe/R1M1\.json in its"
        ):
            replay_command("R1M1", home=played, conversation=True)
        path.write_text("{")
        with pytest.raises(UserError, match=r"R1M1\.json of this SHARED folder is of no use: not JSON"):
            replay_command("R1M1", home=played, conversation=True)
    finally:
        path.write_bytes(kept)
    printed = capsys.readouterr().out
    assert "Step 7" in printed
    assert printed.endswith("Agent Alpha beats Agent Beta.\n")


def test_a_referee_s_own_folder_has_no_league_and_its_matches_are_replayed(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_home(tmp_path / "own")
    for league_id in ("league_nim", "league_tic_tac_toe"):
        path = DataPaths(tmp_path / "own").match_file(league_id, "R1M1")
        path.parent.mkdir(parents=True)
        path.write_bytes(file_of(played).read_bytes())
    with pytest.raises(UserError, match="choose with --league-id: league_nim, league_tic_tac_toe"):
        replay_command("r1m1", home=tmp_path / "own")
    replay_command("r1m1", home=tmp_path / "own", league_id="league_nim", conversation=True)
    assert "GAME_INVITATION" in capsys.readouterr().out
    with pytest.raises(UserError, match="No league was played in"):
        replay_command("R9M9", home=tmp_path / "own")


def walk(auto: float | None = None) -> ReplayViewer:
    return ReplayViewer(ReplayedMatch(TOE, ("Ann", "Bob"), "Bob was too slow"), replay_match(TOE), auto)


@pytest.mark.parametrize(
    ("keys", "at"),
    [
        (["right"], 1),
        (["space", "space", "left"], 1),
        (["left"], 0),
        (["end"], 3),
        (["end", "right", "home", "right"], 1),
        (["x"], 0),
    ],
)
def test_keys_go_through_a_match(keys: list[str], at: int) -> None:
    one = walk()
    for key in keys:
        one.handle_key(key)
    assert one.position == at


def test_a_match_plays_by_itself_until_its_end_or_a_key() -> None:
    one = walk(auto=0.1)
    one.handle_key(None)
    assert (one.position, one.is_playing) == (1, True)
    one.handle_key("left")
    assert (one.position, one.is_playing) == (0, False)
    one.handle_key("a")
    assert one.is_playing
    for _ in range(5):
        one.handle_key(None)
    assert (one.position, one.is_playing) == (3, False)
    one.handle_key("a")
    assert (one.position, one.is_playing) == (0, True)


def test_keys_are_known_by_what_terminals_send() -> None:
    assert parse_keys(b"\x1b[C\x1bOD \x1b[1~\x1b[Fq\x1b") == ["right", "left", "space", "home", "end", "q", "escape"]


ENTRIES = [
    ConversationEntry("state", "collecting moves"),
    ConversationEntry("sent", "CHOOSE_PARITY_CALL", side=0, since="+0.001 s", attempt=2),
    ConversationEntry(
        "failed", "no answer", side=0, since="+2.001 s", latency="2.0 s", code="E001", code_name="TIMEOUT_ERROR"
    ),
    ConversationEntry(
        "received", "CHOOSE_PARITY_RESPONSE", gist='"odd"', side=1, since="+2.002 s", notes=("no 'auth_token'",)
    ),
    ConversationEntry("drawn", "7", since="+2.003 s"),
]


@pytest.mark.parametrize("width", [10, 80, 300])
def test_lanes_are_as_wide_as_the_terminal_within_bounds(width: int) -> None:
    drawn = [line for line, _ in render_conversation(ENTRIES, ("Ann", "REF01", "x" * 500), width)]
    assert max(map(len, drawn)) <= max(60, min(120, width))
    text = "\n".join(drawn)
    for part in ("collecting moves", "<-", "try 2", "E001", "TIMEOUT_ERROR", '"odd"', "no 'auth_token'", "drawn: 7"):
        assert part in text


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[AtTerminal]:
    path = tmp_path / "R1M1.json"
    path.write_text(json.dumps(TOE))
    opened = AtTerminal("replay", path)
    yield opened
    opened.close()


def test_at_a_terminal_a_match_is_stepped_through(terminal: AtTerminal) -> None:
    terminal.shows("0 of 3")
    terminal.types(b"\x1b[C")
    terminal.shows("1 of 3")
    terminal.types(b"\x1b[F")
    terminal.shows("Technical loss (P02: move timeout)")
    terminal.types(b"q")
    assert terminal.process.wait(BOUND) == 0
