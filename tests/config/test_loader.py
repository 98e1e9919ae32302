"""`ConfigLoader`: files without loss, and every mistake named with its file and the path in it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader, McpServer
from agent_league.errors import ConfigError
from agent_league.model.names import is_safe_name

GOLDEN = Path(__file__).parents[1] / "golden" / "files"
LEAGUE_ID = "league_2025_even_odd"
SYSTEM = "system.json"
AGENTS = "agents/agents_config.json"
LEAGUE = f"leagues/{LEAGUE_ID}.json"
GAMES = "games/games_registry.json"
REFEREE = "defaults/referee.json"
PLAYER = "defaults/player.json"

LOADERS: dict[str, Callable[[ConfigLoader], Any]] = {
    SYSTEM: ConfigLoader.load_system,
    AGENTS: ConfigLoader.load_agents,
    LEAGUE: ConfigLoader.load_league,
    GAMES: ConfigLoader.load_games_registry,
    REFEREE: ConfigLoader.load_referee_defaults,
    PLAYER: ConfigLoader.load_player_defaults,
}
MISSING = object()


def change(home: Path, file: str, path: str, value: Any) -> None:
    """Sets one value of a file, or takes it out."""
    target = home / "config" / file
    data = json.loads(target.read_text(encoding="utf-8"))
    *folders, name = [int(part) if part.isdecimal() else part for part in path.split(".")]
    inside = data
    for folder in folders:
        inside = inside[folder]
    if value is MISSING:
        del inside[name]
    else:
        inside[name] = value
    target.write_text(json.dumps(data), encoding="utf-8")


def mistake(home: Path, file: str) -> str:
    with pytest.raises(ConfigError) as caught:
        LOADERS[file](ConfigLoader(home))
    return str(caught.value)


@pytest.mark.parametrize(
    ("golden", "file"), [("system.json", SYSTEM), ("agents_config.json", AGENTS), ("league.json", LEAGUE)]
)
def test_a_file_of_the_seeds_is_read_without_loss(home: Path, golden: str, file: str) -> None:
    shutil.copyfile(GOLDEN / golden, home / "config" / file)
    read = LOADERS[file](ConfigLoader(home)).model_dump(mode="json")
    assert contains(read, json.loads((GOLDEN / golden).read_text(encoding="utf-8")))


def contains(whole: Any, part: Any) -> bool:
    """Whether everything in `part` stands in `whole`, same values and same types."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


def test_every_message_is_logged_also_where_no_file_says_so(home: Path) -> None:
    shipped = ConfigLoader(home).load_system().logging
    change(home, SYSTEM, "logging", MISSING)
    assert ConfigLoader(home).load_system().logging.messages is shipped.messages is True


def test_fields_of_ones_own_are_kept(home: Path) -> None:
    change(home, SYSTEM, "timeouts.x_coffee_break_sec", 900)
    assert ConfigLoader(home).load_system().timeouts.model_dump()["x_coffee_break_sec"] == 900


@pytest.mark.parametrize(
    ("file", "setting", "meant"),
    [
        (LEAGUE, "scoring.win_pints", "win_points"),
        (LEAGUE, "participents", "participants"),
        (SYSTEM, "timeouts.move_timeout", "move_timeout_sec"),
        (AGENTS, "players.1.display_nam", "display_name"),
        (AGENTS, "league_manager.end_point", "endpoint"),
        (GAMES, "games.0.game_typ", "game_type"),
        (REFEREE, "max_concurrent_match", "max_concurrent_matches"),
        (PLAYER, "llm.mcp_servers.notes.urls", "url"),
    ],
)
def test_a_key_that_nobody_knows_is_refused_with_the_one_that_was_meant(
    home: Path, file: str, setting: str, meant: str
) -> None:
    change(home, PLAYER, "llm.mcp_servers", {"notes": {"url": "http://localhost:9000/mcp"}})
    change(home, file, setting, 1)
    told = mistake(home, file)
    assert f"{file}: {setting}: no such setting (" in told
    assert f"did you mean {meant}? " in told
    assert told.endswith("; a key of your own begins with x_")


def test_a_required_key_that_is_misspelt_is_named_as_it_stands_there(home: Path) -> None:
    change(home, LEAGUE, "league_id", MISSING)
    change(home, LEAGUE, "leage_id", LEAGUE_ID)
    assert "leage_id: no such setting (did you mean league_id? " in mistake(home, LEAGUE)


def test_a_manager_has_one_address_in_both_files(home: Path) -> None:
    change(home, AGENTS, "league_manager.endpoint", "http://localhost:8055/mcp")
    told = mistake(home, AGENTS)
    assert f"{home / 'config' / AGENTS}: league_manager.endpoint: port 8055, but" in told
    assert f"{home / 'config' / SYSTEM} says 8000 (network.default_league_manager_port)" in told
    change(home, SYSTEM, "network.default_league_manager_port", 8055)
    assert ConfigLoader(home).load_agents().league_manager.endpoint == "http://localhost:8055/mcp"


def test_a_manager_on_another_machine_has_the_port_that_it_has_there(home: Path) -> None:
    change(home, AGENTS, "league_manager.endpoint", "http://lab-7:8055/mcp")
    assert ConfigLoader(home).load_agents().league_manager.endpoint == "http://lab-7:8055/mcp"
    change(home, SYSTEM, "network.base_host", "lab-7")
    assert "league_manager.endpoint: port 8055, but" in mistake(home, AGENTS)


def test_a_port_that_is_set_for_one_run_is_where_agents_look_for_the_manager(home: Path) -> None:
    loader = ConfigLoader(home, {"network.default_league_manager_port": 8055})
    assert loader.load_agents().league_manager.endpoint == "http://localhost:8055/mcp"
    change(home, AGENTS, "league_manager.endpoint", "http://[::1]:8000/mcp")
    assert loader.load_agents().league_manager.endpoint == "http://[::1]:8055/mcp"


@pytest.mark.parametrize("file", LOADERS)
def test_a_missing_file_is_named(home: Path, file: str) -> None:
    (home / "config" / file).unlink()
    assert str(home / "config" / file) in mistake(home, file)
    assert "no such file" in mistake(home, file)
    assert f"league init {home}" in mistake(home, file)


def test_a_missing_league_file_is_named_with_the_leagues_there_are(home: Path) -> None:
    with pytest.raises(ConfigError, match=rf"other\.json: no such file \(there are: {LEAGUE_ID}\)"):
        ConfigLoader(home).load_league("other")


@pytest.mark.parametrize("file", LOADERS)
def test_what_is_not_json_is_named_with_its_line(home: Path, file: str) -> None:
    (home / "config" / file).write_text('{\n  "schema_version": "1.0.0",\n  oops\n}', encoding="utf-8")
    assert f"{home / 'config' / file}: not JSON" in mistake(home, file)
    assert "line 3, column 3" in mistake(home, file)


@pytest.mark.parametrize("file", LOADERS)
@pytest.mark.parametrize(("content", "problem"), [(b"[]", "found list"), (b"\xff\xfe{}", "not text in UTF-8")])
def test_a_file_that_holds_no_object_is_named(home: Path, file: str, content: bytes, problem: str) -> None:
    (home / "config" / file).write_bytes(content)
    assert str(home / "config" / file) in mistake(home, file)
    assert problem in mistake(home, file)


WRONG: list[tuple[str, str, Any, str]] = [
    (SYSTEM, "default_league_id", MISSING, "is missing"),
    (SYSTEM, "protocol_version", "league.v9", "should be 'league.v2'"),
    (SYSTEM, "network", 5, "object"),
    (SYSTEM, "network.base_host", 5, "string"),
    (SYSTEM, "network.default_league_manager_port", 0, "greater than or equal to 1"),
    (SYSTEM, "network.default_league_manager_port", 65536, "less than or equal to 65535"),
    (SYSTEM, "network.default_league_manager_port", "8000", "integer"),
    (SYSTEM, "network.default_league_manager_port", True, "integer"),
    (SYSTEM, "network.default_referee_port_range", [8010, 8001], "first not above last"),
    (SYSTEM, "network.default_player_port_range", [8101, 70000], "less than or equal to 65535"),
    (SYSTEM, "network.default_player_port_range", [8101], "missing"),
    (SYSTEM, "network.allowed_hosts", "localhost", "array"),
    (SYSTEM, "security.enable_auth_tokens", "yes", "boolean"),
    (SYSTEM, "security.token_length", 31, "greater than or equal to 32"),
    (SYSTEM, "security.token_ttl_hours", 0, "greater than 0"),
    (SYSTEM, "security.token_ttl_hours", 1e300, "less than or equal to"),
    (SYSTEM, "timeouts.v1_game_join_ack_timeout_sec", 0, "greater than 0"),
    (SYSTEM, "timeouts.move_timeout_sec", "30", "number"),
    (SYSTEM, "timeouts.move_timeout_sec", None, "number"),
    (SYSTEM, "timeouts.move_timeout_sec", float("nan"), "should be"),
    (SYSTEM, "timeouts.move_timeout_sec", float("inf"), "less than or equal to"),
    (SYSTEM, "timeouts.game_join_ack_timeout_sec", 0, "greater than 0"),
    (SYSTEM, "timeouts.game_over_timeout_sec", -1, "greater than 0"),
    (SYSTEM, "timeouts.generic_response_timeout_sec", [], "number"),
    (SYSTEM, "timeouts.register_referee_timeout_sec", {}, "number"),
    (SYSTEM, "timeouts.register_player_timeout_sec", 86401, "less than or equal to 86400"),
    (SYSTEM, "retry_policy.max_retries", 0, "greater than or equal to 1"),
    (SYSTEM, "retry_policy.max_retries", 1.5, "integer"),
    (SYSTEM, "retry_policy.base_delay_sec", -1, "greater than or equal to 0"),
    (SYSTEM, "retry_policy.backoff_strategy", "none", "'exponential' or 'fixed'"),
    (SYSTEM, "circuit_breaker.failure_threshold", 0, "greater than or equal to 1"),
    (SYSTEM, "circuit_breaker.probe_after_sec", 0, "greater than 0"),
    (SYSTEM, "heartbeat.interval_sec", 0, "greater than 0"),
    (SYSTEM, "heartbeat.lease_sec", "10", "number"),
    (SYSTEM, "heartbeat.match_sec", 0, "greater than 0"),
    (SYSTEM, "heartbeat.quiet_sec", -1, "greater than 0"),
    (SYSTEM, "security.verify_callers", "no", "boolean"),
    (SYSTEM, "security.require_player_tokens", 1, "boolean"),
    (SYSTEM, "security.allow_referee_tokens", "some", "boolean"),
    (SYSTEM, "tolerance.strict", "very", "boolean"),
    (SYSTEM, "security.rate_limit_per_sec", 0, "greater than 0"),
    (SYSTEM, "security.rate_limit_per_sec", "fast", "number"),
    (SYSTEM, "security.rate_limit_burst", 0, "greater than or equal to 1"),
    (SYSTEM, "logging.level", "LOUD", "'DEBUG', 'INFO', 'WARNING' or 'ERROR'"),
    (SYSTEM, "logging.messages", "some", "boolean"),
    (SYSTEM, "logging.max_file_mib", 0, "greater than 0"),
    (SYSTEM, "logging.old_files", -1, "greater than or equal to 0"),
    (AGENTS, "league_manager", MISSING, "is missing"),
    (AGENTS, "league_manager.endpoint", "localhost", "such as http://localhost:8000/mcp"),
    (AGENTS, "referees.1.referee_id", MISSING, "is missing"),
    (AGENTS, "referees.1.endpoint", "ftp://localhost/mcp", "such as http://localhost:8000/mcp"),
    (AGENTS, "referees.0.max_concurrent_matches", 0, "greater than or equal to 1"),
    (AGENTS, "referees.0.game_types", "even_odd", "array"),
    (AGENTS, "players.3.display_name", 7, "string"),
    (AGENTS, "players.2.default_endpoint", MISSING, "is missing"),
    (AGENTS, "players.2.active", "no", "boolean"),
    (LEAGUE, "league_id", MISSING, "is missing"),
    (LEAGUE, "league_id", "another", f"expected '{LEAGUE_ID}' (the file's name), found 'another'"),
    (LEAGUE, "game_type", MISSING, "is missing"),
    (LEAGUE, "game_parameters", [1], "object"),
    (LEAGUE, "scoring.win_points", "3", "integer"),
    (LEAGUE, "scoring.win_points", 2**64, "less than or equal to 1000000"),
    (LEAGUE, "scoring.loss_points", -(2**64), "greater than or equal to -1000000"),
    (LEAGUE, "scoring.tiebreakers.1", "beauty", "'head_to_head'"),
    (LEAGUE, "scheduling.format", 5, "string"),
    (LEAGUE, "scheduling.seeding", "beauty", "'rating'"),
    (LEAGUE, "scheduling.stages", [{"settings": {}}], "format"),
    (LEAGUE, "scheduling.matches_per_round", 0, "greater than or equal to 1"),
    (LEAGUE, "scheduling.rounds", 0, "greater than or equal to 1"),
    (LEAGUE, "scheduling.overlap_rounds", "yes", "boolean"),
    (LEAGUE, "scheduling.referee_assignment", "friends", "'least_connections'"),
    (LEAGUE, "participants.min_players", 1, "greater than or equal to 2"),
    (LEAGUE, "participants.min_players", 101, "min_players (101) is above max_players (100)"),
    (LEAGUE, "participants.max_players", "many", "integer"),
    (GAMES, "games", MISSING, "is missing"),
    (GAMES, "games.0.game_type", MISSING, "is missing"),
    (GAMES, "games.0.parameters", [1, 10], "object"),
    (REFEREE, "max_concurrent_matches", 0, "greater than or equal to 1"),
    (REFEREE, "game_types", "even_odd", "array"),
    (PLAYER, "strategy", 3, "string"),
    (PLAYER, "game_types.0", None, "string"),
    (PLAYER, "llm", "gpt", "object"),
    (PLAYER, "llm.model", 5, "string"),
    (PLAYER, "llm.base_url", "localhost:11434", "such as http://localhost:11434/v1"),
    (PLAYER, "llm.base_url", "http://me:secret@localhost/v1", "without a password"),
    (PLAYER, "llm.output", "json", "'auto', 'tool', 'native' or 'prompted'"),
    (PLAYER, "llm.move_sec", 0, "greater than 0"),
    (PLAYER, "llm.max_tokens", 0, "greater than or equal to 1"),
    (PLAYER, "llm.max_cost_usd", 0, "greater than 0"),
    (PLAYER, "llm.max_cost_usd", float("inf"), "finite"),
    (PLAYER, "llm.fallback", None, "string"),
    (PLAYER, "llm.mcp_servers", ["npx"], "object"),
    (PLAYER, "llm.mcp_servers", {"my tools": ["npx"]}, "should match pattern"),
    (PLAYER, "llm.mcp_servers", {"x" * 25: ["npx"]}, "should match pattern"),
    (PLAYER, "llm.mcp_servers", {"notes": []}, "a url or a command, one of the two"),
    (PLAYER, "llm.mcp_servers", {"notes": {"headers": {"a": "b"}}}, "a url or a command, one of the two"),
    (PLAYER, "llm.mcp_servers", {"notes": {"url": "http://a/b", "command": ["c"]}}, "one of the two"),
    (PLAYER, "llm.mcp_servers", {"notes": {"url": "http://a/b", "env": {"A": "b"}}}, "env only with a command"),
    (PLAYER, "llm.mcp_servers", {"notes": {"command": ["c"], "headers": {"A": "b"}}}, "headers only with a url"),
    (PLAYER, "llm.mcp_servers", {"notes": {"url": "localhost:9000"}}, "such as http://localhost:8000/mcp"),
    (PLAYER, "llm.mcp_servers", {"notes": {"command": [1]}}, "string"),
    (PLAYER, "llm.mcp_servers", {"notes": 5}, "object"),
]


def in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (in_its_place, "a folder is in the place of the file; move it away and run `league init"),
    "bytes": (lambda path: path.write_bytes(bytes(range(256))), "not text in UTF-8; move it away and run `league init"),
    "nothing": (lambda path: path.write_bytes(b""), "the file is empty: move it away and run `league init"),
    "half of it": (lambda path: path.write_bytes(path.read_bytes()[:40]), "not JSON: "),
    "brackets without end": (lambda path: path.write_text("[" * 100_000), "not JSON that can be read: "),
    "a number without end": (lambda path: path.write_text("9" * 10_000), "not JSON that can be read: "),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", LOADERS)
def test_a_damaged_file_gets_a_sentence_that_says_what_to_do(home: Path, file: str, damage: str) -> None:
    do_harm, words = DAMAGE[damage]
    do_harm(home / "config" / file)
    told = mistake(home, file)
    assert str(home / "config" / file) in told
    assert words in told


@pytest.mark.parametrize(
    ("file", "path", "value", "problem"), WRONG, ids=lambda value: "nothing" if value is MISSING else str(value)[:40]
)
def test_a_wrong_value_is_named_with_file_and_path(home: Path, file: str, path: str, value: Any, problem: str) -> None:
    change(home, file, path, value)
    sentence = mistake(home, file)
    where, _, rest = sentence.partition(f": {path}")
    assert where == str(home / "config" / file)
    assert problem in rest


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("http://a/mcp", McpServer(url="http://a/mcp")),
        (["npx", "-y"], McpServer(command=("npx", "-y"))),
        ({"url": "http://a/mcp", "headers": {"A": "$B"}}, McpServer(url="http://a/mcp", headers={"A": "$B"})),
        ({"command": ["npx"], "env": {"A": "$B"}}, McpServer(command=("npx",), env={"A": "$B"})),
    ],
)
def test_an_mcp_server_is_written_out_or_in_short(home: Path, written: Any, read: McpServer) -> None:
    change(home, PLAYER, "llm.mcp_servers", {"notes": written})
    assert ConfigLoader(home).load_player_defaults().llm.mcp_servers == {"notes": read}


def test_a_lease_must_be_longer_than_the_time_between_two_questions(home: Path) -> None:
    change(home, SYSTEM, "heartbeat.lease_sec", 2)
    assert mistake(home, SYSTEM).endswith("heartbeat.lease_sec: expected more than heartbeat.interval_sec (2), found 2")


def test_a_wrong_value_is_shown_as_it_stands_in_the_file(home: Path) -> None:
    change(home, SYSTEM, "security.enable_auth_tokens", "yes")
    assert mistake(home, SYSTEM).endswith('security.enable_auth_tokens: should be a valid boolean, found "yes"')


def test_every_setting_of_the_shipped_files_is_checked_by_name() -> None:
    """A setting that is added to a file gets a row in WRONG, or is free text."""
    free_text = {"schema_version", "system_id", "last_updated", "display_name", "status", "created_at", "version"}
    free_text |= {"description", "player_id", "active", "allow_tokenless_return", "draw_points", "loss_points"}
    free_text |= {"technical_loss_points"}
    shipped = Path(__file__).parents[2] / "SHARED" / "config"
    tried = {part for _, path, _, _ in WRONG for part in path.split(".")}
    for file in LOADERS:
        for name in names_in(json.loads((shipped / file).read_text(encoding="utf-8"))):
            assert name in tried | free_text, f"{file}: {name}"


def names_in(data: Any) -> set[str]:
    if isinstance(data, dict):
        own = (inner for name, inner in data.items() if name != "parameters")  # a game's rules check its own
        return set(data) | {name for inner in own for name in names_in(inner)}
    return {name for inner in data for name in names_in(inner)} if isinstance(data, list) else set()


@pytest.mark.parametrize(
    ("game_type", "league_id"),
    [
        ("tic_tac_toe", "league_tic_tac_toe"),
        ("openspiel:kuhn_poker", "league_openspiel_kuhn_poker"),
        ("openspiel:go(board_size=5)", "league_openspiel_go_board_size_5_"),
        ("x" * 200, f"league_{'x' * 93}"),
        ("../../etc", "league__etc"),
    ],
)
def test_a_league_of_a_game_has_an_id_that_can_name_a_file(home: Path, game_type: str, league_id: str) -> None:
    league = ConfigLoader(home).load_league(None, game_type)
    assert (league.league_id, league.game_type) == (league_id, game_type)
    assert is_safe_name(league.league_id)
    assert league.scoring == ConfigLoader(home).load_league().scoring


def test_what_was_set_for_a_league_of_a_game_counts(home: Path) -> None:
    loader = ConfigLoader(home, {"scoring.win_points": 2, "game_parameters": {"repeat": 3}})
    league = loader.load_league(None, "tic_tac_toe")
    assert (league.scoring.win_points, league.game_parameters) == (2, {"repeat": 3})


@pytest.mark.parametrize("league_id", ["../system", "a/b", ".hidden", "", "two words", "ü", "x" * 101, "a\n"])
def test_a_league_id_that_can_not_name_a_file_is_refused(home: Path, league_id: str) -> None:
    with pytest.raises(ConfigError, match=r"^league_id: expected up to 100 letters"):
        ConfigLoader(home).load_league(league_id)
    change(home, SYSTEM, "default_league_id", league_id)
    with pytest.raises(ConfigError, match=r"system\.json: default_league_id: expected up to 100 letters"):
        ConfigLoader(home).load_league()


@pytest.mark.parametrize("league_id", ["x" * 100, "L-1.b_2"])
def test_a_league_of_ones_own_is_read(home: Path, league_id: str) -> None:
    data = json.loads((home / "config" / LEAGUE).read_text(encoding="utf-8"))
    path = home / "config" / "leagues" / f"{league_id}.json"
    path.write_text(json.dumps({**data, "league_id": league_id}), encoding="utf-8")
    assert ConfigLoader(home).load_league(league_id).league_id == league_id


def test_agents_are_found_by_their_id(home: Path) -> None:
    loader = ConfigLoader(home)
    assert loader.get_player_by_id("P03").display_name == "Agent Gamma"
    assert loader.get_referee_by_id("REF02").endpoint == "http://localhost:8002/mcp"


def test_an_unknown_agent_is_named_with_those_there_are(home: Path) -> None:
    loader = ConfigLoader(home)
    with pytest.raises(ConfigError, match=r"agents_config.json: players: no 'P09' \(there are: P01, P02, P03, P04\)"):
        loader.get_player_by_id("P09")
    with pytest.raises(ConfigError, match=r"agents_config.json: referees: no 'P01' \(there are: REF01, REF02\)"):
        loader.get_referee_by_id("P01")


def test_inactive_agents_are_not_awaited(home: Path) -> None:
    change(home, AGENTS, "players.1.active", False)
    change(home, AGENTS, "referees.0.active", False)
    agents = ConfigLoader(home).load_agents()
    assert [entry.player_id for entry in agents.active_players] == ["P01", "P03", "P04"]
    assert [entry.referee_id for entry in agents.active_referees] == ["REF02"]
