"""`league run`: a whole league in one command, as processes with real HTTP."""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_league.cli.league_view import LeagueView
from agent_league.cli.options import print_pages_address
from agent_league.cli.run import run
from agent_league.clock import SystemClock
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import PortInUse
from agent_league.league.resume import load_or_create_season, open_store
from agent_league.log import MESSAGE_EVENTS
from agent_league.model.events import LeagueCompleted
from agent_league.model.results import StandingsRow
from tests.cli.command import (
    LEAGUE,
    LEAGUE_ID,
    Running,
    alive,
    environment,
    league,
    lines_of,
    pids_of,
    ports,
    running,
    until,
)
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.launch.test_league_start import ANN

NEVER_DONE = 60
"""Players of a league that is still running whenever a test interrupts it: 1770 matches."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Played:
    """A league of four that was run from an empty folder."""

    folder: Path
    out: str
    err: str
    code: int

    @property
    def home(self) -> Path:
        return self.folder / "SHARED"

    @property
    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    def read(self, *path: str) -> Any:
        return json.loads(self.home.joinpath(*path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("empty")
    done = league("run", "--json", *ports(), cwd=folder)
    return Played(folder, done.stdout, done.stderr, done.returncode)


def without_tiebreaks(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a table as messages and files have them."""
    return [{name: value for name, value in row.items() if name != "tiebreaks"} for row in rows]


def test_stdout_is_exactly_one_json_object(played: Played) -> None:
    assert played.code == 0, played.err
    assert played.out.count("\n") == 1
    told = {
        "league_id",
        "rounds",
        "matches",
        "champion",
        "champions",
        "standings",
        "ratings",
        "strategies",
        "tolerated",
        "models",
        "broken_off",
        "seconds",
    }
    assert set(played.summary) == told
    assert played.summary["tolerated"] == played.summary["models"] == {}
    assert (played.summary["league_id"], played.summary["rounds"], played.summary["matches"]) == (LEAGUE_ID, 3, 6)
    assert played.summary["seconds"] > 0


def test_the_summary_says_who_plays_how(played: Played) -> None:
    assert len(played.summary["ratings"]["all_results"]["ratings"]) == 4
    assert played.summary["strategies"] == dict.fromkeys(["P01", "P02", "P03", "P04"], "random")


@pytest.mark.parametrize("strategies", [("random", "markov"), ("random",)])
def test_the_table_says_who_plays_how_where_that_differs(
    plan: PlanMaker, capsys: pytest.CaptureFixture[str], strategies: tuple[str, ...]
) -> None:
    made = plan(players=2, strategies=strategies)
    rows = tuple(StandingsRow(place, f"P0{place}", f"Agent {place}", 0, 0, 0, 0, 0, place) for place in (1, 2))
    LeagueView(made).print_summary(LeagueCompleted("league", 1, 1, rows), 1.0)
    shown = capsys.readouterr().out
    assert [word in shown for word in ("Strategy", "markov", "random")] == [len(strategies) > 1] * 3


def test_a_strategy_that_is_made_for_other_games_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy, pytest.raises(PortInUse):
        run(home=home, strategy="random,tit_for_tat", game="nim", manager_port=busy.getsockname()[1])
    assert capsys.readouterr().err == "tit_for_tat is made for prisoners_dilemma, not for nim.\n"


def test_the_champion_leads_a_table_that_adds_up(played: Played) -> None:
    table = played.summary["standings"]
    assert [row["rank"] for row in table] == [1, 2, 3, 4]
    assert sorted(row["player_id"] for row in table) == ["P01", "P02", "P03", "P04"]
    assert all(row["points"] == 3 * row["wins"] + row["draws"] for row in table)
    assert all(row["played"] == row["wins"] + row["draws"] + row["losses"] == 3 for row in table)
    assert [row["points"] for row in table] == sorted((row["points"] for row in table), reverse=True)
    assert played.summary["champion"] == {key: table[0][key] for key in ("player_id", "display_name", "points")}


def test_where_no_home_is_found_one_is_made_and_that_is_said(played: Played) -> None:
    assert "No SHARED folder was found; wrote SHARED" in played.err
    assert (played.home / "config" / "system.json").is_file()


def test_each_agent_has_a_process_and_all_have_ended(played: Played) -> None:
    pids = pids_of(played.home)
    assert len(set(pids)) == 7
    assert alive(pids) == []


def test_the_files_of_the_league_tell_what_was_printed(played: Played) -> None:
    standings = played.read("data", "leagues", LEAGUE_ID, "standings.json")
    assert standings["standings"] == without_tiebreaks(played.summary["standings"])
    assert standings["rounds_completed"] == 3
    rounds = played.read("data", "leagues", LEAGUE_ID, "rounds.json")["rounds"]
    assert [(one["round_id"], one["status"], len(one["matches"])) for one in rounds] == [
        (1, "COMPLETED", 2),
        (2, "COMPLETED", 2),
        (3, "COMPLETED", 2),
    ]


def test_every_match_has_a_file_with_lifecycle_transcript_and_result(played: Played) -> None:
    folder = played.home / "data" / "matches" / LEAGUE_ID
    assert sorted(path.name for path in folder.iterdir()) == [f"R{r}M{m}.json" for r in (1, 2, 3) for m in (1, 2)]
    for path in folder.iterdir():
        match = json.loads(path.read_text(encoding="utf-8"))
        states = [step["state"] for step in match["lifecycle"]]
        assert states == ["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
        assert {entry.get("method") for entry in match["transcript"]} >= {
            "handle_game_invitation",
            "choose_parity",
            "notify_match_result",
        }
        assert match["result"]["status"] in ("WIN", "DRAW")
        assert 1 <= match["result"]["drawn_number"] <= 10


def test_every_player_has_its_history(played: Played) -> None:
    for row in played.summary["standings"]:
        history = played.read("data", "players", row["player_id"], "history.json")
        outcomes = [match["outcome"] for match in history["matches"]]
        assert (outcomes.count("WIN"), outcomes.count("DRAW"), len(outcomes)) == (row["wins"], row["draws"], 3)


def test_league_agents_and_system_have_their_logs(played: Played) -> None:
    logs = played.home / "logs"
    agents = {path.name.partition(".")[0] for path in (logs / "agents").iterdir()}
    assert agents >= {"REF01", "REF02", "P01", "P02", "P03", "P04"}
    lines = lines_of(logs / "league" / LEAGUE_ID / "league.log.jsonl")
    events = [line["event_type"] for line in lines if line["event_type"] not in MESSAGE_EVENTS]
    assert (events.count("AgentRegistered"), events.count("MatchFinished"), events[-1]) == (6, 6, "LeagueCompleted")
    system = [line["event_type"] for line in lines_of(logs / "system" / "orchestrator.log.jsonl")]
    assert system == ["league_run_started", "processes_started", "league_run_completed"]


def test_no_token_is_in_any_file_but_its_own(played: Played) -> None:
    token = re.compile(rb"tok-[a-z0-9]+-[0-9a-f]{32}")
    leaky = {path.name for path in played.home.rglob("*") if path.is_file() and token.search(path.read_bytes())}
    own = {path.name for path in (played.home / "data" / "credentials").iterdir()}
    assert leaky == {"admin.token", *own}
    assert len(own) == 6


def test_secrets_on_disk_are_readable_by_their_owner_alone(played: Played) -> None:
    data = played.home / "data"
    secret = [*data.glob("leagues/*/admin.token"), *data.glob("credentials/*"), *data.glob("league.db*")]
    assert len(secret) >= 8
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}


def test_a_second_run_moves_the_earlier_data_aside(played: Played, tmp_path: Path) -> None:
    shutil.copytree(played.home, tmp_path / "SHARED")
    done = league("run", "--json", "--players", 2, "--referees", 1, *ports(2, 1), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The data of an earlier league was moved to" in done.stderr
    assert "No SHARED folder" not in done.stderr
    (moved,) = (tmp_path / "SHARED" / "data" / "archive" / LEAGUE_ID).iterdir()
    assert json.loads((moved / "league" / "standings.json").read_text())["standings"] == without_tiebreaks(
        played.summary["standings"]
    )
    assert len(list((moved / "matches").iterdir())) == 6
    assert sorted(path.name for path in (moved / "players").iterdir()) == ["P01", "P02", "P03", "P04"]
    matches = tmp_path / "SHARED" / "data" / "matches" / LEAGUE_ID
    assert [path.name for path in matches.iterdir()] == ["R1M1.json"]
    players = tmp_path / "SHARED" / "data" / "players"
    assert sorted(path.name for path in players.iterdir()) == ["P01", "P02"]


def test_a_seed_makes_a_league_repeatable(tmp_path: Path) -> None:
    def table(seed: int, name: str) -> list[dict[str, Any]]:
        size = ["--players", 12, "--referees", 3, "--strategy", "random,frequency,pattern,markov"]
        done = league("run", "--json", "--seed", seed, *size, "--home", tmp_path / name, *ports(12, 3))
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert (summary["matches"], summary["rounds"]) == (66, 11)
        found: list[dict[str, Any]] = summary["standings"]
        return found

    first = table(7, "first")
    assert table(7, "second") == first
    assert table(8, "third") != first
    assert 3 <= len(pids_of(tmp_path / "first")) <= 1 + max(2, os.cpu_count() or 1)


def test_settings_and_strategies_reach_the_league_and_plain_output_has_no_control_characters(tmp_path: Path) -> None:
    make_home(tmp_path / "SHARED")
    folder = tmp_path / "somewhere" / "below"
    folder.mkdir(parents=True)
    options = ["--players", 20, "--strategy", "always_even", "--set", "scoring.draw_points=2"]
    done = league("run", *options, *ports(20), "--set", "scheduling.matches_per_round=5", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not CONTROL.search(done.stdout)
    assert done.stdout.count(" Agent ") >= 20, "all rows are shown"
    assert "with 38 points, after 190 matches in 38 rounds and" in " ".join(done.stdout.split()), "all draws"
    assert "Champions, level after all tiebreakers: " in done.stdout
    assert (tmp_path / "SHARED" / "data").is_dir(), "the home above is used"
    assert list(folder.iterdir()) == []


def test_a_league_of_few_rounds_ends_after_them(tmp_path: Path) -> None:
    done = league("run", "--json", "--players", 6, "--rounds", 2, *ports(6), "--home", tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["rounds"], told["matches"]) == (2, 6)
    assert {row["played"] for row in told["standings"]} == {2}


def test_a_run_with_guests_waits_until_they_have_registered(tmp_path: Path) -> None:
    first = free_ports(4)
    where = ["--manager-port", first, "--referee-port", first + 1, "--player-port", first + 2]
    size = ["--players", 1, "--referees", 1, "--guests", 1]
    with running(["run", "--no-stay", "--json", *size, *where, "--home", tmp_path / "run"]) as (run,):
        manager = f"http://localhost:{first}"
        guest = ["--name", "Guest", "--port", first + 3, "--exit-when-done", "--home", tmp_path / "guest"]
        with running(["player", "--manager", manager, *guest]) as (player,):
            assert run.ends() == 0, run.text
            assert player.ends() == 0, player.text
    assert {row["display_name"] for row in json.loads("".join(run.out))["standings"]} == {"Agent Alpha", "Guest"}


def test_a_run_says_how_its_guests_come_in(capsys: pytest.CaptureFixture[str]) -> None:
    print_pages_address("http://localhost:8000/mcp", guests=2)
    told = capsys.readouterr().err
    assert "It waits until 2 guests have registered: an MCP host by `league join http://localhost:8000 --name" in told


def test_a_terminal_shows_the_progress_bar_and_the_table_live(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*LEAGUE, "run", "--no-stay", "--players", "6", "--home", str(tmp_path), *map(str, ports(6))]
    env = environment(TERM="xterm-256color", LINES="50")
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = read_all(ours)
        assert process.wait(BOUND) == 0
    live, _, final = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).rpartition("Even/Odd League 2025")
    assert "Registering" in live
    assert "0/8" in live
    assert "Round 5" in live
    assert "15/15" in live
    assert "━━━" in live
    assert "Even/Odd League 2025" in live, "the table changes while the league runs"
    assert "Champion" in final
    assert all(f"P0{number}" in final for number in range(1, 7))


def test_json_stays_alone_on_a_terminal_too(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    size = ["--players", "2", "--referees", "1", "--home", str(tmp_path), *map(str, ports(2, 1))]
    env = environment(TERM="xterm-256color")
    with subprocess.Popen(
        [*LEAGUE, "run", "--json", *size], stdout=theirs, stderr=subprocess.DEVNULL, env=env
    ) as process:
        os.close(theirs)
        shown = read_all(ours)
        assert process.wait(BOUND) == 0
    assert json.loads(shown)["matches"] == 1


def read_all(descriptor: int) -> str:
    """What comes out of a pseudo-terminal until its other end is closed."""
    content = b""
    try:
        while chunk := os.read(descriptor, 65536):
            content += chunk
    except OSError:  # Linux says so when the last process has closed it
        pass
    finally:
        os.close(descriptor)
    return content.decode()


@pytest.fixture
def long_league(tmp_path: Path) -> Iterator[Running]:
    """A league in the middle of its matches."""
    command = ["run", "--json", "--players", NEVER_DONE, "--home", tmp_path, *ports(NEVER_DONE)]
    with running(command) as (process,):
        matches = tmp_path / "data" / "matches" / LEAGUE_ID
        until(lambda: (matches.is_dir() and any(matches.iterdir())) or process.process.poll() is not None, "a match")
        yield process
        until(lambda: not alive(pids_of(tmp_path)), "the end of all processes")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_league_ends_all_its_processes(long_league: Running, tmp_path: Path, number: int) -> None:
    pids = pids_of(tmp_path)
    assert alive(pids) == pids
    if number == signal.SIGINT:
        os.killpg(long_league.process.pid, signal.SIGINT)  # as a terminal does
    else:
        long_league.signal(signal.SIGTERM)
    assert long_league.ends() == 130
    assert alive(pids) == []
    assert long_league.out == []
    assert "Interrupted; everything that was started has ended." in long_league.text
    assert "Traceback" not in long_league.text


def test_a_killed_command_takes_its_processes_along(long_league: Running, tmp_path: Path) -> None:
    pids = pids_of(tmp_path)
    assert alive(pids) == pids
    long_league.signal(signal.SIGKILL)
    long_league.ends()
    until(lambda: not alive(pids), "the end of all processes")


@pytest.mark.parametrize(
    ("taken", "option", "who"),
    [
        (0, "--manager-port", "the league manager"),
        (2, "--referee-port", "referee REF02"),
        (5, "--player-port", "player P03"),
    ],
)
def test_a_port_in_use_is_named_and_nothing_is_started(tmp_path: Path, taken: int, option: str, who: str) -> None:
    options = ports()
    with socket.socket() as other:
        port = int(str(options[1])) + taken
        other.bind(("127.0.0.1", port))
        other.listen()
        done = league("run", "--home", tmp_path, *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"league: Port {port} on 127.0.0.1 is in use, and {who} needs it." in done.stderr
    assert option in done.stderr
    assert not (tmp_path / "logs").exists()
    assert not (tmp_path / "data").exists()


def test_the_command_that_is_printed_for_an_interrupted_run_continues_it(tmp_path: Path) -> None:
    home = tmp_path / "my league's"
    make_home(home)
    options = ["--players", 3, "--referees", 1, "--people", 1, *ports(3, 1), "--home", home]
    run = Running([*LEAGUE, "run", *options])
    try:
        run.prints("It starts once one person takes a seat")
        until(lambda: league("show", "standings", "--home", home).stdout.count("P0") == 3, "three players are in")
        run.signal(signal.SIGINT)
        assert run.ends() == 130
    finally:
        run.close()
    (printed,) = re.findall("`(league run --resume.*)` continues it", run.text)
    _, *words = shlex.split(printed)
    again = Running([*LEAGUE, *words])
    try:
        again.prints("It starts once one person takes a seat")
    finally:
        again.signal(signal.SIGINT)
        again.ends()
        again.close()


@pytest.mark.parametrize("options", [["--players", "4"], ["--seed", "7"], ["--set", "scoring.win_points=3"]])
def test_resume_with_options_of_a_new_run_is_refused(played: Played, options: list[str]) -> None:
    done = league("run", "--resume", *options, "--home", played.home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "league: --resume continues a run as it was started; leave out all but --home" in done.stderr


def test_an_unfinished_league_is_not_put_aside_unless_asked(tmp_path: Path) -> None:
    make_home(tmp_path)
    store = open_store(tmp_path, None)
    saved = load_or_create_season(store, ConfigLoader(tmp_path).load_league(), SystemClock())
    store.write_rows(saved.season.season_id, [ANN])
    store.close()
    command = ["run", "--json", "--players", 2, "--referees", 1, *ports(2, 1), "--home", tmp_path]
    refused = league(*command)
    assert (refused.returncode, refused.stdout) == (2, "")
    again = f"Continue it with `league run --resume --home {tmp_path}` or `league manager --home {tmp_path}`"
    assert f"holds an unfinished league (1 player registered). {again}" in refused.stderr
    assert league(*command, "--new").returncode == 0


def test_a_run_that_came_to_its_end_is_not_resumed_and_its_files_stay(played: Played) -> None:
    before = {path: path.read_bytes() for path in (played.home / "data" / "leagues").rglob("*") if path.is_file()}
    done = league("run", "--resume", "--home", played.home)
    assert (done.returncode, done.stdout) == (2, "")
    anew = f"league run --home {played.home}"
    expected = f"league: There is no interrupted run of {LEAGUE_ID} in {played.home}; `{anew}` starts a new one.\n"
    assert done.stderr == expected
    assert {path: path.read_bytes() for path in before} == before


def test_what_a_run_was_asked_for_is_kept_without_the_address_of_its_database(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/secret-name.db"
    options = ["--players", 2, "--referees", 1, "--seed", "7", "--set", "scoring.win_points=4", "--store", address]
    done = league("run", "--json", *options, "--home", tmp_path, *ports(2, 1))
    assert done.returncode == 0, done.stderr
    kept = (tmp_path / "data" / "leagues" / LEAGUE_ID / "run.json").read_text()
    assert "secret-name" not in kept
    assert json.loads(kept)["overrides"] == {"scoring.win_points": 4}
    request = json.loads(kept)["request"]
    assert (request["players"], request["seed"], request["store"]) == (2, "7", None)
    assert not (tmp_path / "data" / "league.db").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--strategy", "clever"], "league: --strategy: no strategy 'clever' is installed (there are: alternating"),
        (
            ["--set", "game_type=chess"],
            "league: --set: game_type: no game 'chess' is installed (there are: connect_four",
        ),
        (["--set", "nothing.there=1"], "league: --set: nothing.there: no such setting"),
        (
            ["--set", "timeouts.move_timeout_sec=-1"],
            "league: --set: timeouts.move_timeout_sec: should be greater than 0",
        ),
        (["--set", "timeouts"], "league: --set: timeouts: expected PATH=VALUE"),
        (["--league-id", "other"], "other.json: no such file (there are: league_2025_even_odd)"),
        (["--players", "1"], "A league needs at least 2 players, not 1."),
        (["--referees", "0"], "'--referees'"),
        (["--manager-port", "65536"], "'--manager-port'"),
        (["--player-port", "65533"], "league: --player-port 65533: 4 ports from there go past 65535."),
        (["--nonsense"], "No such option"),
        (["--home", "/dev/null"], "league: /dev/null: is a file; a folder for config, data and logs was expected"),
        (["--home", "/dev/null/x"], "league: /dev/null/x: can't be written"),
    ],
)
def test_a_wrong_command_ends_with_a_sentence_and_exit_code_2(
    tmp_path: Path, options: list[str], sentence: str
) -> None:
    done = league("run", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "SHARED" / "logs").exists()


def test_a_wrong_file_ends_with_its_name_and_exit_code_2(tmp_path: Path) -> None:
    make_home(tmp_path)
    path = tmp_path / "config" / "agents" / "agents_config.json"
    path.write_text('{"league_manager": {"endpoint": 8000}}', encoding="utf-8")
    done = league("run", "--home", tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"league: {path}: league_manager.endpoint: should be a valid string, found 8000\n"
