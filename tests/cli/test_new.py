"""`league new player`: the starters are written, pass `league check` by their own tests, and play real leagues."""

import asyncio
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent_league.check.transcript_check import validate_transcripts
from agent_league.cli.new import StarterLanguage
from tests.cli.command import LEAGUE_ID, Running, environment, league, running, until
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.launch.scripted_guests import hosted
from tests.serve.stage import write_league

OLDEST_NODE = 20


def usable_node() -> str | None:
    """Node, where there is one that is new enough."""
    node = shutil.which("node")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout if node else "v0"
    return node if int(said.lstrip("v").partition(".")[0] or 0) >= OLDEST_NODE else None


NODE = usable_node()
NO_NODE = f"there is no Node of version {OLDEST_NODE} or newer here; install nodejs"
FILES = {
    StarterLanguage.PYTHON: {"README.md", "config.json", "player.py", "test_player.py"},
    StarterLanguage.JAVASCRIPT: {
        "README.md",
        "config.json",
        "league.js",
        "package.json",
        "player.js",
        "player.test.js",
    },
}
START: dict[StarterLanguage, list[object]] = {
    StarterLanguage.PYTHON: [sys.executable, "player.py"],
    StarterLanguage.JAVASCRIPT: [NODE, "player.js"],
}
TEST: dict[StarterLanguage, list[object]] = {
    StarterLanguage.PYTHON: [sys.executable, "-m", "unittest"],
    StarterLanguage.JAVASCRIPT: [NODE, "--test"],
}

runs = pytest.mark.parametrize(
    "language",
    [
        StarterLanguage.PYTHON,
        pytest.param(
            StarterLanguage.JAVASCRIPT,
            marks=pytest.mark.skipif(NODE is None, reason=NO_NODE),
        ),
    ],
)


def starter(folder: Path, language: StarterLanguage, *options: object) -> Path:
    done = league("new", "player", folder, "--language", language, *options)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("language", StarterLanguage)
def test_a_starter_is_written_with_name_and_port_and_says_what_to_do_next(
    tmp_path: Path, language: StarterLanguage
) -> None:
    folder = tmp_path / "my agents" / "first"
    done = league("new", "player", folder, "--language", language, "--name", 'Zoë "Z"', "--port", 12345)
    assert (done.returncode, done.stdout) == (0, "")
    assert {path.name for path in folder.iterdir()} == FILES[language]
    config = (folder / "config.json").read_text(encoding="utf-8")
    assert "Zoë" in config
    assert json.loads(config) == {
        "version": "1.0.0",
        "name": 'Zoë "Z"',
        "port": 12345,
        "manager": "http://localhost:8000/mcp",
        "games": ["even_odd", "*"],
    }
    *written, change, check, play = done.stderr.splitlines()
    assert {Path(line.removeprefix("wrote ")) for line in written} == set(folder.iterdir())
    assert "`choose`" in change
    assert f"cd '{folder}' && " in check
    assert "README.md" in play


def test_without_a_language_it_is_python_and_without_a_name_that_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "alice").mkdir()
    assert league("new", "player", ".", cwd=tmp_path / "alice").returncode == 0
    assert {path.name for path in (tmp_path / "alice").iterdir()} == FILES[StarterLanguage.PYTHON]
    config = json.loads((tmp_path / "alice" / "config.json").read_text(encoding="utf-8"))
    assert (config["name"], config["port"]) == ("alice", 8101)


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "player.py").write_text("mine")
    done = league("new", "player", tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"league: {tmp_path} is not empty; name a folder that is new or empty. Nothing was written.\n"
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["player", "file"], "league: file is a file; name a folder that is new or empty. Nothing was written."),
        (["player", "file/inner"], "league: file/inner can't be written: Not a directory"),
        (["player", "/proc/agent-league"], "league: /proc/agent-league can't be written: "),
        (["player", "x", "--language", "cobol"], "'cobol' is not one of 'python', 'javascript'"),
        (["referee", "x"], "'referee' is not one of 'player'"),
        (["player", "x", "--port", "0"], "--port"),
        (["player", "x", "--name", ""], "league: --name '': expected 1 to 100 characters that people can see"),
        (["player", "x", "--name", "a\x1b[2J"], "league: --name 'a\\x1b[2J': expected 1 to 100 characters"),
        (["player", "x", "--name", "n" * 101], "expected 1 to 100 characters that people can see"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "file").write_text("mine")
    done = league("new", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "mine"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a b"], "can't be a league's name, which stands in its address"),
        (["cup", "--title", "a\x1b[2J"], "--title "),
        (["cup", "--format", "swis"], "did you mean swiss?"),
    ],
)
def test_a_league_that_cannot_be_leaves_no_folder(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = league("new", "league", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not list(tmp_path.iterdir())


def test_players_are_told_the_address_by_which_others_reach_the_league(tmp_path: Path) -> None:
    assert "--manager http://localhost:8000/leagues/one/\n" in league("new", "league", "one", cwd=tmp_path).stderr
    path = tmp_path / "SHARED" / "config" / "system.json"
    system = json.loads(path.read_text(encoding="utf-8"))
    system.setdefault("network", {})["public_url"] = "https://league.example.org/ai"
    path.write_text(json.dumps(system), encoding="utf-8")
    made = league("new", "league", "two", cwd=tmp_path)
    assert "league player --manager https://league.example.org/ai/leagues/two/\n" in made.stderr, made.stderr


def test_the_javascript_starter_needs_nothing_but_node(tmp_path: Path) -> None:
    folder = starter(tmp_path / "js", StarterLanguage.JAVASCRIPT)
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    assert not [name for name in package if "ependencies" in name]
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.js"))
    needed = set(re.findall(r"""require\(["']([^"']+)["']\)""", code))
    assert {name for name in needed if not name.startswith("./")} >= {"node:http"}
    assert not [name for name in needed if not name.startswith(("node:", "./"))]
    assert not re.search(r"^\s*import ", code, re.MULTILINE)


@pytest.mark.parametrize("language", StarterLanguage)
def test_a_starter_s_readme_is_short_and_names_only_what_is_there(tmp_path: Path, language: StarterLanguage) -> None:
    readme = (starter(tmp_path / "x", language) / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 14
    named = set(re.findall(r"\b[\w.]+\.(?:py|js|json)\b", readme))
    assert named
    assert named <= FILES[language]


def own_test(folder: Path, language: StarterLanguage) -> subprocess.CompletedProcess[str]:
    """Runs a starter's test as its README says, with `league` on the PATH."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(part) for part in TEST[language]],
        cwd=folder,
        env=environment(PATH=programs),
        capture_output=True,
        text=True,
        timeout=2 * BOUND,
        check=False,
    )


@runs
def test_a_starter_s_own_test_runs_league_check_and_passes(tmp_path: Path, language: StarterLanguage) -> None:
    done = own_test(starter(tmp_path / "x", language), language)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^Ran 1 test|^\S pass 1$", done.stdout + done.stderr, re.MULTILINE)


def spoil(folder: Path, language: StarterLanguage) -> str:
    """Makes a starter answer wrongly; the step at which `league check` must notice."""
    path = folder / str(START[language][1])
    good = path.read_text(encoding="utf-8")
    if language is StarterLanguage.JAVASCRIPT:
        path.write_text(
            good.replace("return moves[", "return moves.map((move) => move.toUpperCase())["), encoding="utf-8"
        )
        return "CHOOSE_PARITY_RESPONSE: parity_choice"
    clock = 'from agent_league.players import actuators\nactuators.format_utc = lambda _: "noon"\n'
    path.write_text(clock + good, encoding="utf-8")
    return "CHOOSE_PARITY_RESPONSE: timestamp"


@runs
def test_a_starter_s_own_test_says_what_league_check_found(tmp_path: Path, language: StarterLanguage) -> None:
    folder = starter(tmp_path / "x", language)
    step = spoil(folder, language)
    done = own_test(folder, language)
    assert done.returncode == 1
    assert f"FAIL {step}" in done.stdout + done.stderr


@runs
def test_league_check_warns_of_nothing(tmp_path: Path, language: StarterLanguage) -> None:
    port = free_ports(2)
    folder, manager = starter(tmp_path / "x", language), f"http://localhost:{port + 1}/mcp"
    home = environment(LEAGUE_HOME=str(tmp_path / "SHARED"))
    player = Running([*START[language], "--port", port, "--manager", manager], folder, home)
    try:
        done = league("check", f"http://localhost:{port}/mcp", "--manager-port", port + 1, "--wait", BOUND)
    finally:
        player.close()
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(re.findall(r"^ *\d+ (?:WARN|FAIL) (.+)$", done.stdout, re.MULTILINE)) == set()


@pytest.mark.skipif(NODE is None, reason=NO_NODE)
def test_the_javascript_starter_comes_back_as_the_same_player_by_the_token_that_it_keeps(tmp_path: Path) -> None:
    port = free_ports(2)
    folder, address = starter(tmp_path / "x", StarterLanguage.JAVASCRIPT), f"http://localhost:{port}/mcp"
    credentials = folder / f"credentials-{port + 1}.json"
    # a league that others can reach, though it is bound to this machine: nobody comes back without a token
    open_league = ["--port", port, "--players", 3, "--set", 'network.allowed_hosts=["localhost", "lab-9"]']
    command = [*START[StarterLanguage.JAVASCRIPT], "--port", port + 1, "--manager", address]

    def start_player(expected: str) -> str:
        player = Running(command, folder)
        try:
            player.prints(expected)
        finally:
            player.close()
        return player.text

    with running(["manager", *open_league, "--home", tmp_path / "first"]) as (manager,):
        manager.prints("Waiting for")
        texts = [start_player("Registered as P01.") for _ in range(3)]
        token = json.loads(credentials.read_text(encoding="utf-8"))["auth_token"]
        assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
        assert not any(token in text for text in (*texts, manager.text))
        kept = credentials.rename(tmp_path / "kept")
        assert "says no" in start_player("Duplicate display name")
        kept.rename(credentials)
        start_player("Registered as P01.")
    with running(["manager", *open_league, "--home", tmp_path / "second"]) as (manager,):
        manager.prints("Waiting for")
        start_player("Registered as P01.")
        assert json.loads(credentials.read_text(encoding="utf-8"))["auth_token"] != token
        credentials.write_text("{", encoding="utf-8")
        start_player("Duplicate display name")


@pytest.mark.skipif(NODE is None, reason=NO_NODE)
def test_where_there_is_no_league_command_the_javascript_test_says_so(tmp_path: Path) -> None:
    folder = starter(tmp_path / "x", StarterLanguage.JAVASCRIPT)
    done = subprocess.run(
        [str(NODE), "--test"],
        cwd=folder,
        env=environment(LEAGUE="no-such-league"),
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0
    assert "there is no command no-such-league here; install agent-league, or name it in LEAGUE" in done.stdout
    assert re.search(r"^\S skipped 1$", done.stdout, re.MULTILINE)


@runs
def test_a_starter_plays_a_whole_league_with_ours(tmp_path: Path, language: StarterLanguage) -> None:
    port = free_ports(5)
    home, url = ["--home", tmp_path / "SHARED"], f"http://localhost:{port}/mcp"
    folder = starter(tmp_path / "x", language, "--name", "Starter", "--port", port + 4)
    ours = [
        ["manager", "--port", port, "--players", 3, "--referees", 1, "--exit-when-done", *home],
        ["referee", "--port", port + 1, "--manager", url, "--exit-when-done", *home],
        ["player", "--port", port + 2, "--manager", url, "--exit-when-done", *home],
        ["player", "--port", port + 3, "--manager", url, "--exit-when-done", *home],
    ]
    with ExitStack() as stack:
        mine = Running([*START[language], "--manager", url], folder, environment(LEAGUE_HOME=str(home[1])))
        stack.callback(mine.close)
        mine.prints(f"Starter at http://localhost:{port + 4}/mcp registers with {url}")
        processes = stack.enter_context(running(*ours))
        assert [process.ends() for process in processes] == [0, 0, 0, 0]
        mine.prints("Registered as P0")
        how_it_went = re.compile(r"R\dM1.*: (?:WIN|LOSS|DRAW) \(.+, number was \d+ ")
        until(lambda: len(how_it_went.findall(mine.text)) == 2, f"its two results with their reasons in {mine.text}")
        assert "Traceback" not in mine.text
        assert mine.process.poll() is None, "it is still there"
        processes[0].prints("joins as a player: Starter")
    matches = tmp_path / "SHARED" / "data" / "matches" / LEAGUE_ID
    results = [json.loads(path.read_text())["result"] for path in matches.glob("R*.json")]
    assert len(results) == 3
    assert {how for result in results for how in result["terminations"].values()} == {"normal"}, "nobody failed"
    report = validate_transcripts(tmp_path / "SHARED")
    assert report.format_lines() == ["100% of messages valid (30 of 30): 18 sent, 12 received"]
    tokens = [json.loads(path.read_text())["transcript"] for path in matches.glob("R*.json")]
    assert {line["token"] for lines in tokens for line in lines if line["direction"] == "received"} == {"ok"}


@runs
async def test_a_starter_plays_another_game_and_one_that_does_not_take_it_says_so(
    home: Path, plan: PlanMaker, tmp_path: Path, language: StarterLanguage
) -> None:
    port = free_ports(4)
    ports = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    league_of_it = plan(players=2, referees=1, game="tic_tac_toe", **ports)
    started: list[Running] = []

    def start(*games: str) -> Running:
        folder = starter(tmp_path / f"{len(started)}", language, "--port", port + 3)
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **({"games": games} if games else {})}))
        where = ["--manager", f"http://localhost:{port}/mcp"]
        started.append(Running([*START[language], *where], folder, environment(LEAGUE_HOME=str(tmp_path / "OTHER"))))
        return started[-1]

    try:
        async with hosted(league_of_it, guests=1) as watched:
            limited = await asyncio.to_thread(start, "nim")
            assert await asyncio.to_thread(limited.ends) == 1
            assert re.search(r"Unsupported game type \(this league plays 'tic_tac_toe'\).*ou take .*nim", limited.text)
            assert '"*" for any' in limited.text
            await asyncio.to_thread(start)
            await watched.completed()
    finally:
        for process in started:
            process.close()
    (match,) = (home / "data" / "matches" / "league_tic_tac_toe").glob("R*.json")
    result = json.loads(match.read_text())["result"]
    assert set(result["terminations"].values()) == {"normal"}, "nobody failed"


@runs
def test_a_starter_whose_port_is_taken_ends_with_a_sentence(tmp_path: Path, language: StarterLanguage) -> None:
    port = free_ports(2)
    folder = starter(tmp_path / "x", language, "--port", port)
    with ExitStack() as stack:
        started = []
        for _ in range(2):
            process = Running(
                [*START[language], "--manager", f"http://localhost:{port + 1}/mcp"], folder, environment()
            )
            stack.callback(process.close)
            started.append(process)
            if len(started) == 1:
                process.prints("registers with")
        assert started[1].ends() == 2
        assert f"{port}" in started[1].text
        assert "with --port" in started[1].text
        assert "Traceback" not in started[1].text


@runs
def test_a_port_that_is_none_ends_a_starter_with_a_sentence(tmp_path: Path, language: StarterLanguage) -> None:
    folder = starter(tmp_path / "x", language)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "port": 70000}), encoding="utf-8")
    process = Running(START[language], folder, environment(LEAGUE_HOME=str(tmp_path / "SHARED")))
    try:
        assert process.ends() == 2
        assert "expected a port from 1 to 65535, found '70000'" in process.text
    finally:
        process.close()


@runs
def test_a_starter_says_what_is_wrong_with_a_sign_up_address_and_shows_no_key(
    home: Path, tmp_path: Path, language: StarterLanguage
) -> None:
    write_league(home, "spring", registration="keys")
    key, port = "key-" + "a" * 26, free_ports(2)
    folder = starter(tmp_path / "x", language, "--port", port + 1)
    with running(["serve", "--home", home, "--port", port], cwd=tmp_path) as (server,):
        server.prints("Serving 2 leagues")
        for path, ending, words in (
            (f"/leagues/spring/join/{key}/mcp", 1, "nobody may come in by this sign-up address"),
            (f"/join/{key}/mcp", None, f"These can be joined: http://localhost:{port}/leagues/"),
        ):
            typed = environment(LEAGUE_HOME=str(tmp_path / "own"), LEAGUE_SIGN_UP_URL=f"http://localhost:{port}{path}")
            mine = Running(START[language], folder, typed)
            try:
                mine.prints(words)
                assert ending is None or mine.ends() == ending
                assert "/join/[key]/mcp" in mine.text
                assert key not in mine.text
            finally:
                mine.close()
