"""The parts by themselves: manager, referees and players, each in a terminal of its own."""

import json
import re
import signal
import socket
import stat
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import (
    LEAGUE_ID,
    Running,
    Waiting,
    changed_json,
    environment,
    home_with,
    league,
    lines_of,
    running,
    until,
)
from tests.conftest import BOUND, free_ports


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=BOUND) as response:
        return json.load(response)


def call(url: str, method: str, params: dict[str, Any]) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=BOUND) as response:
        return json.load(response)["result"]


def assert_clean(*processes: Running) -> None:
    """All ended with 0 and without a traceback."""
    for process in processes:
        assert process.ends() == 0, process.text
        assert "Traceback" not in process.text


def test_agents_that_start_before_the_manager_wait_for_it_and_all_end_when_done(tmp_path: Path) -> None:
    port = free_ports(4)
    home, url = ["--home", tmp_path], f"http://127.0.0.1:{port}/mcp"
    agent = ["--manager", url, *home, "--exit-when-done"]
    early = [
        ["referee", "--port", port + 1, "--referee-id", "REF05", *agent],
        ["player", "--port", port + 2, "--player-id", "P07", "--name", "Zoë", "--strategy", "always_odd", *agent],
        [
            "player",
            "--port",
            port + 3,
            "--host",
            "127.0.0.1",
            "--league-id",
            LEAGUE_ID,
            "--strategy",
            "always_even",
            *agent,
        ],
    ]
    with running(*early) as (referee, zoe, other):
        zoe.prints(f"Zoë at http://localhost:{port + 2}/mcp registers with {url}")
        for name in ("REF05", "P07", f"player-{port + 3}"):
            log = tmp_path / "logs" / "agents" / f"{name}.log.jsonl"
            until(lambda log=log: events(log, "manager_not_there"), f"{name} waits")  # type: ignore[misc]
        late = ["manager", "--port", port, "--host", "127.0.0.1", "--players", 2, "--referees", 1, "--exit-when-done"]
        with running([*late, *home]) as (manager,):
            assert_clean(manager, referee, zoe, other)
            manager.prints("P07 joins as a player: Zoë")
            manager.prints("The league starts: 2 players, 1 round, 1 match.")
            manager.prints("Champion")
        zoe.prints("Registered as P07.")
        zoe.prints("R1M1 against P01: ")
    match = json.loads((tmp_path / "data" / "matches" / LEAGUE_ID / "R1M1.json").read_text())
    assert match["referee_id"] == "REF05"
    assert match["result"]["choices"] == {"P01": "even", "P07": "odd"}
    assert match["result"]["status"] == "WIN"
    system = tmp_path / "logs" / "system" / "orchestrator.log.jsonl"
    started = {found["pid"]: found["agents"][0]["port"] for found in events(system, "agents_started")}
    assert sorted(started.values()) == [port, port + 1, port + 2, port + 3]
    assert {found["pid"] for found in events(system, "agents_stopped")} == set(started)


def events(log: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in lines_of(log) if line["event_type"] == kind]


def test_without_options_the_league_starts_with_the_active_agents_and_then_answers_queries(tmp_path: Path) -> None:
    port = free_ports(4)
    home = home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=port)
    commands = [
        ["manager", "--port", port],
        ["referee", "--port", port + 1, "--referee-id", "REF01"],
        ["player", "--port", port + 2, "--player-id", "P01"],
        ["player", "--port", port + 3, "--player-id", "P02"],
    ]
    with running(*commands, cwd=tmp_path) as processes:
        manager, *others = processes
        manager.prints("Waiting for 2 players and 1 referee, or `league admin start`.")
        manager.prints("Champion")
        manager.prints("REF01 joins as a referee: Referee Alpha")
        manager.prints("P02 joins as a player: Agent Beta")
        until(lambda: get(f"http://localhost:{port + 2}/health")["state"] == "SHUTDOWN", "the player knows of the end")
        for process in others:
            process.signal(signal.SIGINT)
        assert_clean(*others)
        url = f"http://localhost:{port}"
        table = call(f"{url}/mcp", "get_standings", {})
        assert (table["phase"], [row["played"] for row in table["standings"]]) == ("COMPLETED", [1, 1])
        assert get(f"{url}/health")["role"] == "league_manager"
        saved = home / "data" / "leagues" / LEAGUE_ID / "standings.json"
        until(lambda: saved.is_file() and json.loads(saved.read_text())["rounds_completed"] == 1, "the table on disk")
        assert json.loads(saved.read_text())["standings"] == table["standings"]
        manager.signal(signal.SIGINT)
        assert_clean(manager)


def test_in_terminals_of_their_own_all_play_the_manager_s_game_by_its_parameters(tmp_path: Path) -> None:
    """Nobody but the manager is told what is played, or where to listen."""
    port = free_ports(5)
    home = home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=port)
    network = {"default_referee_port_range": [port, port + 1], "default_player_port_range": [port + 2, port + 4]}
    change_network(home, default_league_manager_port=port, **network)
    param = ["--param", "heaps=[1, 1, 1]", "--param", "repeat=2"]
    with running(["manager", "--game", "nim", *param, "--exit-when-done"], cwd=tmp_path) as (manager,):
        manager.prints(f"League Manager of league_nim at http://localhost:{port}/mcp; the game is nim.")
        ann = ["player", "--name", "Ann", "--exit-when-done"]
        with running(["referee", "--exit-when-done"], ann, cwd=tmp_path) as (referee, player):
            player.prints("Registered as P01.")
            late = ["player", "--game", "nim", "--player-id", "P02", "--exit-when-done"]
            with running(late, cwd=tmp_path) as (other,):
                assert_clean(manager, referee, player, other)
    match = json.loads((home / "data" / "matches" / "league_nim" / "R1M1.json").read_text())
    assert (match["game_type"], match["result"]["status"]) == ("nim", "WIN")
    assert [len(moves) for moves in match["result"]["choices"].values()] == [4, 2]


def change_network(home: Path, **changes: object) -> None:
    path = home / "config" / "system.json"
    system = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(system | {"network": system["network"] | changes}), encoding="utf-8")


def test_league_start_starts_whoever_is_there(tmp_path: Path) -> None:
    port = free_ports(4)
    where = ["--home", tmp_path, "--manager", f"localhost:{port}"]
    with running(["manager", "--port", port, "--players", 50, "--home", tmp_path]) as (manager,):
        manager.prints("Waiting for 50 players")
        token = tmp_path / "data" / "leagues" / LEAGUE_ID / "admin.token"
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        early = league("admin", "start", *where)
        assert early.returncode == 1
        assert "the league can't start: 0 players are registered, at least 2 are needed" in early.stderr
        agents = [
            ["player", "--port", port + 1, *where],
            ["player", "--port", port + 2, *where],
            ["referee", "--port", port + 3, *where],
        ]
        with running(*agents) as processes:
            for name in ("P01", "P02", "REF01"):
                manager.prints(f"{name} joins")
            done = league("admin", "start", *where)
            assert done.returncode == 0, done.stderr
            assert done.stderr == f"{LEAGUE_ID} has started.\n"
            manager.prints("The league starts: 2 players, 1 round, 1 match.")
            manager.prints("Champion")
            again = league("admin", "start", *where)
            assert again.returncode == 1
            assert "the league can't start: it is over" in again.stderr
            for process in (manager, *processes):
                process.signal(signal.SIGTERM)
            assert_clean(manager, *processes)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waiting]:
    home, port = tmp_path_factory.mktemp("home"), free_ports(5)
    agent = ["--manager", f"http://localhost:{port}/mcp", "--home", home, "--name", "Ann", "--port"]
    commands = [
        ["manager", "--port", port, "--home", home],
        ["player", *agent, port + 1],
        ["referee", *agent, port + 2],
    ]
    with running(*commands) as (manager, *_):
        manager.prints("P01 joins as a player: Ann")
        manager.prints("REF01 joins as a referee: Ann")
        yield Waiting(port, home, manager)


@pytest.mark.parametrize("kind", ["player", "referee"])
def test_an_agent_at_its_manager_s_address_is_told_to_choose_another_port(tmp_path: Path, kind: str) -> None:
    port = free_ports(1)
    done = league(kind, "--port", port, "--manager", f"localhost:{port}", "--home", tmp_path)
    assert done.returncode == 2
    assert f"--port {port}: {kind} " in done.stderr
    assert f"its League Manager is at http://localhost:{port}/mcp. Choose another port" in done.stderr


@pytest.mark.parametrize("kind", ["player", "referee"])
def test_a_rejected_registration_ends_with_a_sentence(waiting: Waiting, kind: str) -> None:
    options = ["--port", waiting.port + 3, "--name", "Ann", "--manager", waiting.url, "--home", waiting.home]
    done = league(kind, *options)
    assert done.returncode == 1
    expected = (
        f"league: {waiting.url} rejected the registration: Duplicate display name ('Ann' is taken; if that is you, "
    )
    assert expected in done.stderr
    assert "else choose another name" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_player_tells_its_look_by_options_else_as_its_entry_has_it(tmp_path: Path) -> None:
    port = free_ports(3)
    home = home_with(tmp_path, 2, 1, port)
    with changed_json(home / "config" / "agents" / "agents_config.json") as config:
        config["players"][0] |= {"color": "#16a085", "avatar": "AB"}
    agent = ["--manager", f"http://localhost:{port}/mcp", "--home", home, "--port"]
    with running(["manager", "--port", port, "--home", home]) as (manager,):
        manager.prints("Waiting for")
        named = ["player", "--player-id", "P01", "--color", "#C0392B", *agent, port + 1]
        other = ["player", "--name", "Fox", "--avatar", "🦊", *agent, port + 2]
        with ExitStack() as players:
            for command, joined in ((named, "P01 joins as a player: "), (other, "P02 joins as a player: Fox")):
                players.enter_context(running(command))
                manager.prints(joined)
            with urllib.request.urlopen(f"http://localhost:{port}/players", timeout=BOUND) as response:
                page = response.read().decode()
    assert re.findall(r'<rect[^>]* fill="(#\w+)"/><text[^>]*>(\w+)</text>', page) == [("#c0392b", "AB")]
    assert "🦊</text>" in page


def test_an_agent_of_another_league_is_refused_with_a_sentence(waiting: Waiting) -> None:
    options = ["--port", waiting.port + 3, "--league-id", "other", "--manager", waiting.url, "--home", waiting.home]
    done = league("player", *options)
    assert done.returncode == 1
    assert f"this is league '{LEAGUE_ID}'" in done.stderr


@pytest.mark.parametrize(("kind", "offset"), [("manager", 0), ("player", 1), ("referee", 2)])
def test_a_port_in_use_is_named_with_the_option_that_moves_it(waiting: Waiting, kind: str, offset: int) -> None:
    token = waiting.home / "data" / "leagues" / LEAGUE_ID / "admin.token"
    before = token.read_text(encoding="utf-8")
    done = league(kind, "--port", waiting.port + offset, "--home", waiting.home)
    assert done.returncode == 2
    assert f"league: Port {waiting.port + offset} on 127.0.0.1 is in use" in done.stderr
    assert "or choose another with --port." in done.stderr
    assert token.read_text(encoding="utf-8") == before, "what runs keeps its files"


def test_players_that_start_at_once_have_a_port_each(tmp_path: Path) -> None:
    port = free_ports(7)
    home = home_with(tmp_path, 0, 0, port)
    address = f"http://localhost:{port}/mcp"
    player = ["player", "--manager", address, "--home", home]
    player += ["--set", f"network.default_player_port_range=[{port + 1},{port + 6}]"]
    with running(["manager", "--port", port, "--home", home]) as (manager,):
        manager.prints("Waiting for")
        with running(*[player] * 6) as players:
            for one in players:
                one.prints("Registered as P0")
            text = "".join(one.text for one in players)
    endpoints = re.findall(r"at http://localhost:(\d+)/mcp registers with", text)
    assert sorted(map(int, endpoints)) == [*range(port + 1, port + 7)]


def test_a_referee_that_waits_for_the_manager_of_its_game_finds_the_key_of_that_league(tmp_path: Path) -> None:
    port = free_ports(2)
    common = ["--game", "nim", "--home", tmp_path]
    exposed = ["--set", 'network.allowed_hosts=["localhost", "lab-9"]']  # referees need the key
    with running(["referee", "--manager", f"localhost:{port}", "--port", port + 1, *common]) as (referee,):
        referee.prints("waiting for it")
        with running(["manager", "--port", port, "--players", 2, *exposed, *common]) as (manager,):
            manager.prints("joins as a referee")


def test_league_start_with_another_home_says_what_is_missing(waiting: Waiting, tmp_path: Path) -> None:
    nothing = league("admin", "start", "--home", tmp_path / "nothing", "--manager", waiting.url)
    assert nothing.returncode == 2
    assert nothing.stderr.startswith(f"league: No SHARED folder at {tmp_path / 'nothing'}")
    assert not (tmp_path / "nothing").exists()
    other = home_with(tmp_path / "other", 2, 1, waiting.port)
    no_token = league("admin", "start", "--home", other)
    assert no_token.returncode == 2
    assert f"league: No manager conducts league_2025_even_odd in {other} yet: `league serve`" in no_token.stderr
    assert "Is it another folder's (--home), or another league (--league-id or --game)?" in no_token.stderr


def test_league_start_with_a_wrong_token_is_refused(waiting: Waiting, tmp_path: Path) -> None:
    guess = tmp_path / "token"
    guess.write_text("tok-admin-0000", encoding="utf-8")
    done = league("admin", "start", "--home", waiting.home, "--manager", waiting.url, "--token-file", guess)
    assert done.returncode == 1
    assert "E012 this is not the admin token of this league" in done.stderr


def test_league_start_without_a_manager_says_that_nobody_answers(waiting: Waiting) -> None:
    done = league("admin", "start", "--home", waiting.home, "--manager", f"localhost:{waiting.port + 4}")
    assert done.returncode == 1
    expected = f"league: nobody answers at http://localhost:{waiting.port + 4}/mcp; is the manager running there?"
    assert done.stderr.startswith(expected)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["manager", "--game", "chess"], "league: --game: no game 'chess' is installed (there are: connect_four, "),
        (
            ["manager", "--game", "nim", "--param", "heap=3"],
            "league: --param: nim has no parameter 'heap' (did you mean heaps? there are: ",
        ),
        (["manager", "--param", "repeat"], "league: --param: repeat: expected NAME=VALUE, such as repeat=15"),
        (["manager", "--league-id", "other"], "other.json: no such file (there are: league_2025_even_odd)"),
        (["manager", "--league-id", "../x"], "league: league_id: expected up to 100 letters"),
        (["manager", "--players", "1"], "'--players'"),
        (["manager", "--players", "200"], "participants.max_players: there is room for 100 players, and 200 will come"),
        (["manager", "--set", "participants.min_players=9"], "league: --set: participants.min_players: 9 players are"),
        (["manager", "--host", "192.0.2.1"], "league: --host 192.0.2.1: the league manager can't listen there: "),
        (
            ["play", "http://localhost:9", "--name", "Me", "--host", "192.0.2.1"],
            "league: --host 192.0.2.1: the player 'Me' can't listen there: ",
        ),
        (["manager", "--set", "x=1"], "league: --set: x: no such setting"),
        (["player", "--rejoin", "--exit-when-done"], "league: --rejoin and --exit-when-done are opposites"),
        (["player", "--color", "red"], "league: --color 'red': expected a colour in the form #rrggbb"),
        (
            ["player", "--avatar", "Foxy"],
            "league: --avatar 'Foxy': expected one to three characters",
        ),
        (["player", "--port", "70000"], "'--port'"),
        (["player", "--port", "9", "--strategy", "clever"], "league: --strategy: no strategy 'clever'"),
        (["player", "--port", "9", "--manager", "ftp://x"], "league: --manager 'ftp://x' is no address"),
        (["player", "--port", "9", "--home", "/dev/null"], "league: /dev/null: is a file"),
        (
            ["player", "--port", "9", "--player-id", "a/b"],
            "league: --player-id 'a/b' can't be an id; expected one such as P01",
        ),
        (["referee", "--game", "nim", "--game", "chess"], "league: --game: no game 'chess' is installed"),
        (["referee", "--port", "9", "--referee-id", "../x"], "league: --referee-id '../x' can't be an id"),
        (["referee", "--port", "9", "--manager", "a b"], "league: --manager 'a b' is no address"),
        (["referee", "--port", "9", "--max-concurrent-matches", "0"], "'--max-concurrent-matches'"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_a_wrong_command_ends_with_a_sentence_and_exit_code_2(
    tmp_path: Path, command: list[str], sentence: str
) -> None:
    done = league(*command, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "SHARED" / "data").exists()


def test_a_player_says_of_a_game_that_isnt_installed_that_it_may_be_a_slip(home: Path) -> None:
    games = ("--game", "nim", "--game", "*", "--game", "openspiel:go", "--game", "tictactoe")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        told = league("player", "--port", busy.getsockname()[1], *games, "--home", home)
    assert told.returncode == 2, "the port is taken"
    assert told.stderr.startswith("No game 'tictactoe' is installed here (did you mean tic_tac_toe? there are: ")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("player --protocol a2a", "--protocol a2a needs the agent's address, such as --card http://localhost:9001"),
        ("player --card http://localhost:9001", "--card is for --protocol a2a"),
        (
            "player --protocol a2a --card http://localhost:9001 --strategy random --seed 7",
            "--seed and --strategy are not for --protocol a2a: the agent plays by itself",
        ),
        ("run --protocol a2a", "`league manager`, then `league player --protocol a2a --card URL`"),
        ("run --protocol v9", "'v9' is not one of 'v1', 'v2', 'mixed'"),
    ],
)
def test_what_doesn_t_fit_the_protocol_is_refused_with_what_to_type(home: Path, command: str, sentence: str) -> None:
    told = league(*command.split(), "--home", home)
    assert told.returncode != 0
    assert sentence in told.stderr


def test_a_manager_moves_the_data_of_an_earlier_league_aside_but_not_the_players(tmp_path: Path) -> None:
    for name in (f"leagues/{LEAGUE_ID}/standings.json", f"matches/{LEAGUE_ID}/R1M1.json", "players/P01/history.json"):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        path.write_text("{}", encoding="utf-8")
    with running(["manager", "--port", free_ports(1), "--home", tmp_path]) as (manager,):
        manager.prints("The data of an earlier league was moved to ")
        manager.prints("Waiting for 4 players and 1 referee")
        manager.signal(signal.SIGINT)
        assert_clean(manager)
    assert (tmp_path / "data" / "players" / "P01" / "history.json").is_file()
    assert not (tmp_path / "data" / "matches" / LEAGUE_ID / "R1M1.json").exists()


def manager_and_player(home: Path, port: int, *more: object) -> list[list[object]]:
    player = ["player", "--port", port + 1, "--manager", f"localhost:{port}", "--home", home, "--name", "Ann"]
    return [["manager", "--port", port, "--home", home, *more], player]


def credentials(home: Path) -> dict[str, Any]:
    (file,) = (home / "data" / "credentials").iterdir()
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("options", [["manager"], ["manager", "--new"], ["run"], ["run", "--new"]])
def test_nobody_takes_a_league_from_a_manager_that_is_there(tmp_path: Path, options: list[str]) -> None:
    home, port = tmp_path / "SHARED", free_ports(20)
    others = ["--port", port + 1] if options[0] == "manager" else ["--manager-port", port + 1]
    others += [] if options[0] == "manager" else ["--referee-port", port + 2, "--player-port", port + 8]
    with running(["manager", "--port", port, "--home", home]) as (manager,):
        manager.prints("The admin token is in")
        refused = league(*options, *others, "--home", home)
        assert refused.returncode == 2
        assert f"already, by the League Manager at http://localhost:{port}/mcp" in refused.stderr
        assert "--home" in refused.stderr
        manager.signal(signal.SIGINT)
        assert_clean(manager)


@pytest.mark.parametrize("where", ["in the home", "by option", "in the environment"])
def test_a_manager_goes_on_with_an_unfinished_league_unless_told_to_begin_another(tmp_path: Path, where: str) -> None:
    home, port, database = tmp_path / "SHARED", free_ports(2), tmp_path / "elsewhere.db"
    option = ["--store", f"sqlite:///{database}"] if where == "by option" else []
    env = environment(LEAGUE_STORE=f"sqlite:///{database}") if where == "in the environment" else environment()
    first, ann = manager_and_player(home, port, *option)
    with running(first, env=env) as (manager,), running(ann) as (player,):
        manager.prints("P01 joins as a player: Ann")
        player.prints("Registered as P01.")
        token = credentials(home)["auth_token"]
        manager.signal(signal.SIGKILL)
        manager.ends()
        assert (database if where != "in the home" else home / "data" / "league.db").is_file()
        assert (home / "data" / "league.db").exists() == (where == "in the home")
        with running(first, env=env) as (second,):
            second.prints(
                "Going on with the league that was left unfinished: 1 player registered. (--new begins another.)"
            )
            second.prints("Waiting for 4 players and 1 referee")
            query = {
                "protocol": "league.v2",
                "message_type": "LEAGUE_QUERY",
                "sender": "player:P01",
                "timestamp": "2025-01-15T10:00:00Z",
                "conversation_id": "conv-1",
                "auth_token": token,
                "query_type": "GET_STANDINGS",
            }
            assert call(f"http://localhost:{port}/mcp", "league_query", query)["success"] is True
            second.signal(signal.SIGINT)
            assert_clean(second)
        with running([*first, "--new"], env=env) as (third,):
            third.prints("The data of an earlier league was moved to ")
            third.prints("Waiting for 4 players and 1 referee")
            assert "Going on" not in third.text
            assert call(f"http://localhost:{port}/mcp", "league_query", query)["error_code"] == "E005"
            third.signal(signal.SIGINT)
            assert_clean(third)
        player.signal(signal.SIGINT)
        assert_clean(player)


def test_a_database_that_cannot_be_used_is_told_in_a_sentence(tmp_path: Path) -> None:
    for address in ("mysql://x/y", "sqlite:////dev/null/x.db", "nonsense"):
        done = league("manager", "--port", free_ports(1), "--home", tmp_path / "SHARED", "--store", address)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.splitlines()[-1].startswith("league: ")


def test_a_manager_that_waits_for_nobody_waits_for_league_start(tmp_path: Path) -> None:
    home = home_with(tmp_path, players=0, referees=0, manager_port=8000)
    with running(["manager", "--port", free_ports(1), "--home", home]) as (manager,):
        manager.prints(f"Waiting for `league admin start --home {home}`.")
        manager.signal(signal.SIGINT)
        assert_clean(manager)


@pytest.mark.parametrize("option", [["--league-id", LEAGUE_ID], ["--set", "scheduling.matches_per_round=2"]])
def test_split_rounds_are_announced_to_the_organiser(tmp_path: Path, option: list[str]) -> None:
    with running(["manager", "--port", free_ports(1), "--players", 12, "--home", tmp_path, *option]) as (manager,):
        manager.prints("Rounds are split: scheduling.matches_per_round is 2, a full round has 6 matches.")


def test_a_manager_plays_full_rounds_for_any_number_of_players_and_prints_the_table_once_at_the_end(
    tmp_path: Path,
) -> None:
    """The file that is shipped says two matches a round, which are full rounds for four players."""
    port, numbers = free_ports(8), range(6)
    where = ["--home", tmp_path, "--manager", f"localhost:{port}", "--exit-when-done"]
    manager = ["manager", "--port", port, "--players", 6, "--home", tmp_path, "--exit-when-done"]
    referee = ["referee", "--port", port + 1, *where]
    players = [["player", "--port", port + 2 + number, *where] for number in numbers]
    with running(manager, referee, *players) as (first, *others):
        assert_clean(first, *others)
    assert "The league starts: 6 players, 5 rounds, 15 matches." in first.text
    tables = [line.strip() for line in first.out if line.startswith(("After round", "Final table"))]
    assert tables == [*(f"After round {number}" for number in range(1, 5)), "Final table"]


def test_a_league_whose_referee_was_killed_goes_on_with_one_that_comes_late(tmp_path: Path) -> None:
    port = free_ports(6)
    where = ["--home", tmp_path, "--manager", f"localhost:{port}"]
    quick = ["--set", "circuit_breaker.failure_threshold=1", "--set", "circuit_breaker.probe_after_sec=600"]
    with (
        running(["manager", "--port", port, "--players", 2, "--home", tmp_path, *quick]) as (manager,),
        running(["referee", "--port", port + 1, *where]) as (referee,),
    ):
        manager.prints("REF01 joins")
        referee.signal(signal.SIGKILL)
        referee.ends()
        with running(*(["player", "--port", port + number, *where] for number in (2, 3))) as players:
            manager.prints("REF01 is suspended")
            with running(["referee", "--port", port + 4, *where]) as (late,):
                manager.prints("REF02 joins")
                manager.prints("Champion")
                for process in (manager, late, *players):
                    process.signal(signal.SIGINT)
                assert_clean(manager, late, *players)
    match = json.loads((tmp_path / "data" / "matches" / LEAGUE_ID / "R1M1.json").read_text())
    assert match["referee_id"] == "REF02"


def test_nothing_of_an_earlier_league_is_moved_where_nobody_came_to_it(tmp_path: Path) -> None:
    for _ in range(2):
        with running(["manager", "--port", free_ports(1), "--home", tmp_path]) as (manager,):
            manager.prints("The admin token is in")
            manager.signal(signal.SIGINT)
            assert_clean(manager)
            assert "was moved" not in manager.text
    assert not (tmp_path / "data" / "archive").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives every machine 127.0.0.2")
def test_the_servers_listen_on_loopback_only(waiting: Waiting) -> None:
    for offset in range(3):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.2", waiting.port + offset))  # refused where somebody listens on all addresses
            other.listen()
