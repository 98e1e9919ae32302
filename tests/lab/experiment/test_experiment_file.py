"""An experiment's file: the smallest works, and whatever is wrong is named."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from agent_league.errors import ConfigError
from agent_league.lab.experiment.contestants import PlayerKind
from agent_league.lab.experiment.resolution import read_resolved_experiment, resolve_file
from agent_league.lab.experiment.toml_text import format_toml
from tests.lab.experiment.conftest import WriteFile

SMALLEST = """
name = "three of them"
games = ["tic_tac_toe", "nim"]              # or tables with parameters
players = ["random", "minimax", "mine.py:choose"]
seeds = 20                                   # or a list; every pair, both sides, each seed
"""
BASE = {"games": '["nim"]', "players": '["random", "markov"]', "seeds": "2"}
MINIMAX = '["random", {player = "minimax", name = "deep", parameters = {positions = %s}}]'
LLM = '["random", {player = "llm:x", parameters = {base_url = "http://localhost:1/v1", %s}}]'
WRONG = {
    "games": [
        ("", "games: is missing; expected such as games"),
        ("[]", "games: should name at least one game"),
        ('"nim"', "games: should be a list"),
        ("[3]", "games.0: should be a text or a table, found 3"),
        ('["chess"]', "games.0: no game 'chess' is installed"),
        ('["nim", "nim"]', "games: nim is there twice"),
        ('[{game = "nim", parameters = {heap = [1]}}]', "games.0.parameters: nim has no parameter 'heap'"),
        ('[{gme = "nim"}]', "games.0.gme: no such setting .did you mean game"),
    ],
    "players": [
        ("", "players: is missing"),
        ('["random"]', "players: should be 2 to 100 players, such as random; found 1"),
        ('["random", 7]', "players.1: should be a text or a table, found 7"),
        ('["random", "randm"]', "players.1: .*found 'randm'.*did you mean random"),
        ('["random", "other.py:choose"]', "players.1: there is no file other.py"),
        ('["random", "mine.py:chose"]', "players.1: .*mine.py: chose: expected a function"),
        ('["random", {player = "minimax", parameters = {depth = 2}}]', "takes no parameter 'depth'"),
        (MINIMAX % '"a"', r"players.1: deep \(minimax\): the parameter 'positions' should be int; found 'a'"),
        (MINIMAX % "2.5", "the parameter 'positions' should be int; found 2.5"),
        (MINIMAX % "true", "the parameter 'positions' should be int; found True"),
        (MINIMAX % "0", "players.1: .*deep: can't be made: .*positions must be 1 or more, found 0"),
        (MINIMAX % "[1]", r"the parameter 'positions' should be int; found \[1\]"),
        ('[{player = "random", name = "a"}, {player = "markov", name = "a"}]', "the name 'a' is there twice"),
        ('["http://localhost:1/mcp", "localhost:1"]', "http://localhost:1/mcp is there twice"),
        ('["random", "llm"]', "players.1: should name a model"),
        ('["random", "llm:nobody-knows"]', "a server of your own needs base_url in its parameters$"),
        (LLM % 'api_key = "sk-1"', "api_key: no such setting .*keys come from the environment"),
        (LLM % 'mcp_servers = {a = {url = "http://h/mcp", headers = {Auth = "sk-1"}}}', "should be the name of an env"),
        (LLM % 'mcp_servers = {a = {url = "http://h/mcp?key=sk-1"}}', "without a password and without a query"),
        (LLM % 'models = {x = {mcp_servers = {a = "http://h/mcp?key=sk-1"}}}', "models: the settings of llm:x are the"),
        ('[{player = "llm:x", parameters = {base_url = "http://h/v1?key=sk-1"}}, "random"]', "a password or query"),
        ('["random", "http://me:sk-1@localhost:1/mcp"]', "players.1: should be an address without a password"),
        ('["random", "localhost:1/mcp?key=sk-1"]', "players.1: should be an address without a password"),
        ('["random", {player = "minimax", parameters = 3}]', "players.1.parameters: should be a table, found 3"),
    ],
    "seeds": [
        *((value, "seeds: should be a number from 1 to 1000000, or a list") for value in ("0", "1.5", "true", "[]")),
        ('[1, "1"]', "seeds: .*'1' is there twice"),
        ("2020-01-01", "seeds: should be a number"),
    ],
    "rounds": [("0", "rounds: should be greater than or equal to 1, found 0"), ('"3"', "rounds: .*found")],
    "ranking": [('"best"', "ranking: should be 'elo', 'alpha-rank' or 'nash', found \"best\"")],
    "stop": [
        ("{elo0 = 20, elo1 = 0}", "stop: elo0 must be below elo1.*found 20 and 0$"),
        ("true", "stop: should be a table"),
    ],
    "sedes": [("3", "sedes: no such setting .did you mean seeds")],
    "name": [('""', "name: should be a printable name")],
}


def write_settings(**settings: str) -> str:
    return "\n".join(f"{name} = {value}" for name, value in {**BASE, **settings}.items() if value)


def test_the_smallest_file_works_as_it_stands(write_file: WriteFile) -> None:
    plan = resolve_file(write_file(SMALLEST)).plan
    assert [game.label for game in plan.games] == ["tic_tac_toe", "nim"]
    assert [player.label for player in plan.players] == ["random", "minimax", "mine.py"]
    assert plan.seeds == tuple(map(str, range(1, 21)))
    assert plan.meeting_count * plan.games_per_meeting == 2 * 3 * 20 * 2


@pytest.mark.parametrize(
    ("setting", "value", "problem"), [(name, *case) for name, cases in WRONG.items() for case in cases]
)
def test_what_is_wrong_is_named(write_file: WriteFile, setting: str, value: str, problem: str) -> None:
    path = write_file(write_settings(**{setting: value}))
    with pytest.raises(ConfigError, match=problem) as raised:
        resolve_file(path)
    assert "three.toml" in str(raised.value)
    assert "sk-1" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"games = [", "not TOML"), (b"\xff\xfe", "not text in UTF-8"), (None, "there is no such file")],
)
def test_a_file_that_is_none_is_said_to_be_none(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "three.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=problem):
        resolve_file(path)


def test_the_resolved_file_gives_the_same_experiment_again(write_file: WriteFile, tmp_path: Path) -> None:
    resolved = resolve_file(write_file(SMALLEST))
    folder = tmp_path / "out" / "deep"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(resolved.to_toml(folder))
    again = resolve_file(folder / "experiment.toml")
    assert again.content_hash == resolved.content_hash
    unchecked = read_resolved_experiment(tomllib.loads(resolved.to_toml(folder)), folder)
    assert unchecked.content_hash == resolved.content_hash
    assert unchecked.plan.players[2].file.resolve() == (tmp_path / "mine.py").resolve()


def test_the_hash_is_that_of_what_decides_the_rows(write_file: WriteFile, tmp_path: Path) -> None:
    hashed = resolve_file(write_file(SMALLEST)).content_hash
    named = SMALLEST.replace("three of them", "other name") + 'ranking = "nash"\n'
    assert resolve_file(write_file(named)).content_hash == hashed
    for other in (SMALLEST.replace("20 ", "21 "), SMALLEST + "rounds = 2\n", SMALLEST + "stop = {}\n"):
        assert resolve_file(write_file(other)).content_hash != hashed
    (tmp_path / "mine.py").write_text("def choose(observation):\n    return observation.legal_moves[0]\n")
    assert resolve_file(write_file(SMALLEST)).content_hash != hashed


def test_players_of_all_kinds_are_told_apart(write_file: WriteFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    players = """[
        "random", "random", "mine.py", { player = "mine.py:choose", name = "mine" }, "localhost:8101",
        { player = "llm:small", parameters = { base_url = "http://localhost:1/v1", api_key_variable = "MY_KEY" } },
        { player = "minimax", parameters = { positions = 5 } } ]"""
    resolved = resolve_file(write_file(write_settings(players=players)))
    found = {player.label: player.kind for player in resolved.plan.players}
    assert found == {
        "random": PlayerKind.STRATEGY,
        "random #2": PlayerKind.STRATEGY,
        "mine.py": PlayerKind.FILE,
        "mine": PlayerKind.FILE,
        "localhost:8101": PlayerKind.ADDRESS,
        "llm:small": PlayerKind.MODEL,
        "minimax": PlayerKind.STRATEGY,
    }
    assert "sk-secret" not in resolved.to_toml(Path())
    versions = tomllib.loads(resolved.to_toml(Path()))["resolved"]["versions"]
    assert versions["pydantic-ai-slim"] == version("pydantic-ai-slim"), "the library that asks models, too"
    assert sum("differ from run to run" in remark for remark in resolved.remarks) == 2


def test_a_remark_on_several_players_is_made_once(write_file: WriteFile) -> None:
    players = '["random", "pavlov", {player = "pavlov", name = "another"}]'
    remarks = resolve_file(write_file(write_settings(players=players))).remarks
    assert remarks == ("pavlov is made for prisoners_dilemma, not for nim.",)


def test_toml_is_written_as_it_is_read() -> None:
    content = {
        "a": 'x"y\\\n\u00e9\x7f',
        "b": [1, 2.5, True, "z"],
        "c": {"d e": {"f": []}, "g": 1},
        "h": [{"i": 1, "j": {"k": [1]}}, {"i": 2}],
        "empty": {},
    }
    assert tomllib.loads(format_toml(content)) == content


def test_types_that_only_a_class_knows_are_left_to_it(write_file: WriteFile, tmp_path: Path) -> None:
    parameters = '{ fast = true, weights = [1, 2.5], other = "x", more = 7 }'
    players = f'["random", {{ player = "open.py:Open", parameters = {parameters} }}]'
    path = write_file(f'games = ["nim"]\nseeds = 1\nplayers = {players}\n')
    (tmp_path / "open.py").write_text(
        "class Own: ...\n\n\nclass Open:\n"
        "    def __init__(self, fast: bool, weights: tuple[float, ...], other: Own = None, **more):\n"
        "        assert fast and more == {'more': 7}\n\n"
        "    def choose(self, observation):\n        return observation.legal_moves[0]\n"
    )
    assert resolve_file(path).plan.players[1].parameters["weights"] == [1, 2.5]
    path.write_text(path.read_text().replace("[1, 2.5]", '[1, "2"]'))
    with pytest.raises(ConfigError, match=r"'weights' should be tuple\[float, ...\]; found \[1, '2'\]"):
        resolve_file(path)
