"""The plan of a league: sizes, ports, names, strategies, processes."""

import json
from pathlib import Path

import pytest

from agent_league.errors import UserError
from agent_league.games.base import BadParameters
from agent_league.games.registry import UnknownGame
from agent_league.launch.agent_plan import AgentPlan
from agent_league.launch.plan import LeaguePlan
from agent_league.players.app import PlayerSettings
from agent_league.referee.settings import RefereeSettings
from tests.conftest import PlanMaker


def names(seats: tuple[AgentPlan, ...]) -> list[str]:
    settings = [seat.settings for seat in seats]
    return [one.display_name for one in settings if isinstance(one, PlayerSettings | RefereeSettings)]


def wanted_ids(seats: tuple[AgentPlan, ...]) -> list[str]:
    settings = [seat.settings for seat in seats]
    return [one.wanted_id for one in settings if isinstance(one, PlayerSettings | RefereeSettings)]


def test_without_a_wish_the_plan_is_that_of_the_seeds(plan: PlanMaker) -> None:
    made = plan()
    assert [seat.port for seat in made.agent_plans] == [8000, 8001, 8002, 8101, 8102, 8103, 8104]
    assert wanted_ids(made.agent_plans) == ["REF01", "REF02", "P01", "P02", "P03", "P04"]
    assert names(made.referees) == ["Referee Alpha", "Referee Beta"]
    assert names(made.players) == ["Agent Alpha", "Agent Beta", "Agent Gamma", "Agent Delta"]
    assert {seat.host for seat in made.agent_plans} == {"127.0.0.1"}


def test_inactive_agents_have_no_seat(home: Path, plan: PlanMaker) -> None:
    path = home / "config" / "agents" / "agents_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["players"][1]["active"] = config["referees"][0]["active"] = False
    path.write_text(json.dumps(config), encoding="utf-8")
    made = plan()
    assert names(made.players) == ["Agent Alpha", "Agent Gamma", "Agent Delta"]
    assert names(made.referees) == ["Referee Beta"]


@pytest.mark.parametrize("players", [2, 3, 30, 100, 150])
def test_there_is_a_seat_and_room_for_everybody_and_rounds_are_full(plan: PlanMaker, players: int) -> None:
    made = plan(players=players, referees=3)
    assert (len(made.players), len(made.referees)) == (players, 3)
    assert len(set(names(made.players))) == len(set(wanted_ids(made.players))) == players
    assert made.league.participants.max_players >= players
    assert made.league.scheduling.matches_per_round is None
    capacities = [seat.settings.max_concurrent_matches for seat in made.referees]
    assert sum(capacities) >= players // 2


def test_rounds_stay_split_where_that_was_set_or_the_league_is_named(home: Path, plan: PlanMaker) -> None:
    write_league(home, "league_nim", game_type="nim", scheduling={"matches_per_round": 3})
    named = [plan(league_id="league_2025_even_odd", players=12), plan(game="nim"), plan(game="even_odd")]
    made = [plan({"scheduling.matches_per_round": 2}, players=12), *named]
    assert [one.league.scheduling.matches_per_round for one in made] == [2, 2, 3, None]


def test_p100_comes_after_p99(plan: PlanMaker) -> None:
    assert wanted_ids(plan(players=101).players)[98:] == ["P99", "P100", "P101"]


def test_no_name_is_given_twice(home: Path, plan: PlanMaker) -> None:
    path = home / "config" / "agents" / "agents_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["players"] = [{**config["players"][0], "display_name": name} for name in ("Agent Delta", "Agent 26")]
    path.write_text(json.dumps(config), encoding="utf-8")
    made = names(plan(players=30).players)
    assert made[:4] == ["Agent Delta", "Agent 26", "Agent Gamma", "Agent Epsilon"]
    assert len(set(made)) == 30


def test_strategies_are_dealt_out_in_turn(plan: PlanMaker) -> None:
    made = plan(players=5, strategies=("random", "markov"))
    assert [seat.strategy for seat in made.players] == ["random", "markov", "random", "markov", "random"]


def test_the_seed_reaches_referees_and_players(plan: PlanMaker) -> None:
    made = plan(seed="7")
    assert {seat.settings.seed for seat in made.agent_plans[1:]} == {"7"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"players": 1}, "at least 2 players, not 1"),
        ({"referees": 0}, "at least 1 referee, not 0"),
        ({"manager_port": 8002}, r"--manager-port \(8002-8002\) and --referee-port \(8001-8002\) overlap"),
        ({"referee_port": 8100}, r"--referee-port \(8100-8101\) and --player-port \(8101-8104\) overlap"),
        ({"players": 5, "player_port": 7996}, r"--manager-port \(8000-8000\) and --player-port \(7996-8000\) overlap"),
        ({"player_port": 65533}, "--player-port 65533: 4 ports from there go past 65535"),
        ({"players": 70000}, "--player-port 8101: 70000 ports from there go past 65535"),
        (
            {"strategies": ("random", "clever")},
            r"--strategy: no strategy 'clever' is installed \(there are: alternating,",
        ),
    ],
)
def test_what_can_not_be_planned_is_refused_with_a_sentence(
    plan: PlanMaker, wish: dict[str, int], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        plan(**wish)


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("network.base_host", "example.org", "network.base_host: `league run` stays on this machine"),
        ("participants.max_players", 3, "participants.max_players: there is room for 3 players, and 4 will come"),
        ("participants.min_players", 5, "participants.min_players: 5 players are needed, and only 4 will come"),
        ("game_type", "chess", r"game_type: no game 'chess' is installed \(there are: connect_four, even_odd, "),
        (
            "game_parameters",
            {"max_nubmer": 9},
            r"game_parameters: even_odd has no parameter 'max_nubmer' \(did you mean max_number\? ",
        ),
        ("game_parameters", {"max_number": 0}, "game_parameters: min_number and max_number must be integers in order"),
    ],
)
def test_a_setting_that_no_league_can_start_with_is_named(
    plan: PlanMaker, setting: str, value: object, sentence: str
) -> None:
    with pytest.raises(UserError, match=f"^--set: {sentence}"):
        plan({setting: value})


@pytest.mark.parametrize(
    ("file", "path", "value", "sentence"),
    [
        ("leagues/league_2025_even_odd.json", ["game_type"], "chess", "game_type: no game 'chess'"),
        ("defaults/player.json", ["strategy"], "clever", "strategy: no strategy 'clever'"),
        (
            "games/games_registry.json",
            ["games", 0, "parameters", "max_number"],
            0,
            "games.0.parameters: min_number and max_number must be integers in order, found 1 and 0",
        ),
    ],
)
def test_a_file_that_no_league_can_start_with_is_named(
    home: Path, plan: PlanMaker, file: str, path: list[str | int], value: object, sentence: str
) -> None:
    target = home / "config" / file
    data = inside = json.loads(target.read_text(encoding="utf-8"))
    for part in path[:-1]:
        inside = inside[part]
    inside[path[-1]] = value
    target.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        plan()
    assert str(caught.value).startswith(f"{target}: {sentence}")


def test_a_league_of_a_game_needs_no_file_and_has_an_id_of_its_own(home: Path, plan: PlanMaker) -> None:
    made = plan(game="tic_tac_toe", players=3)
    assert (made.league.league_id, made.league.game_type) == ("league_tic_tac_toe", "tic_tac_toe")
    assert made.league.display_name == "Tic-Tac-Toe League"
    assert {seat.settings.game_types for seat in made.agent_plans[1:]} == {("tic_tac_toe",)}  # type: ignore[union-attr]
    assert sorted(path.name for path in (home / "config" / "leagues").iterdir()) == ["league_2025_even_odd.json"]


def test_a_league_of_a_game_is_as_its_file_says_where_there_is_one(home: Path, plan: PlanMaker) -> None:
    write_league(home, "league_nim", game_type="nim", display_name="Nim Cup", game_parameters={"heaps": [2]})
    assert plan(game="nim").league.display_name == "Nim Cup"
    assert plan(game="nim", parameters={"misere": True}).league.game_parameters == {"heaps": [2], "misere": True}
    assert plan(league_id="league_nim").league.game_parameters == {"heaps": [2], "misere": False}


def test_the_game_that_was_asked_for_wins_over_the_league_file(home: Path, plan: PlanMaker) -> None:
    write_league(home, "cup", game_type="nim", display_name="Nim Cup", game_parameters={"heaps": [2]})
    made = plan(game="kuhn_poker", league_id="cup").league
    assert (made.league_id, made.game_type, made.game_parameters) == ("cup", "kuhn_poker", {})
    assert made.display_name == "Kuhn Poker League"
    assert plan(game="nim", league_id="no_file_yet").league.league_id == "no_file_yet"


def write_league(home: Path, league_id: str, **changes: object) -> None:
    folder = home / "config" / "leagues"
    league = json.loads((folder / "league_2025_even_odd.json").read_text(encoding="utf-8"))
    (folder / f"{league_id}.json").write_text(json.dumps(league | {"league_id": league_id} | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("wish", "parameters"),
    [
        ({"game": "rock_paper_scissors", "parameters": {"first_to": 2}}, {"first_to": 2}),
        ({"game": "prisoners_dilemma", "parameters": {"repeat": 7}}, {"repeat": 7}),
        ({"parameters": {"max_number": 9}}, {"min_number": 1, "max_number": 9}),
        ({"protocol": "v1"}, {"min_number": 0, "max_number": 99}),
        ({"parameters": {"max_number": 9}, "protocol": "v1"}, {"min_number": 0, "max_number": 9}),
        ({"game": "tic_tac_toe"}, {}),
    ],
)
def test_the_parameters_of_the_game_reach_the_manager_and_the_referees(
    plan: PlanMaker, wish: dict[str, object], parameters: dict[str, object]
) -> None:
    made = plan(referees=1, **wish)
    (referee,) = made.referees
    assert isinstance(referee.settings, RefereeSettings)
    assert made.league.game_parameters == referee.settings.games.get_parameters(made.league.game_type)
    assert parameters.items() <= made.league.game_parameters.items()


def test_what_the_registry_sets_is_what_the_league_plays_by(home: Path, plan: PlanMaker) -> None:
    change_registry(home, "odds_and_evens", parameters={"repeat": 3})
    assert plan(game="odds_and_evens").league.game_parameters == {"repeat": 3}
    assert plan(game="odds_and_evens", parameters={"repeat": 4}).league.game_parameters == {"repeat": 4}
    write_league(home, "cup", game_type="odds_and_evens", game_parameters={"first_to": 2})
    assert plan(league_id="cup").league.game_parameters == {"repeat": 3, "first_to": 2}


def change_registry(home: Path, game_type: str, **changes: object) -> None:
    path = home / "config" / "games" / "games_registry.json"
    registry = json.loads(path.read_text(encoding="utf-8"))
    registry["games"] = [game | changes if game["game_type"] == game_type else game for game in registry["games"]]
    path.write_text(json.dumps(registry), encoding="utf-8")


@pytest.mark.parametrize(
    ("wish", "kind", "sentence"),
    [
        (
            {"game": "chess"},
            UnknownGame,
            r"^no game 'chess' is installed \(there are: connect_four, even_odd, .*tic_tac_toe",
        ),
        ({"game": "no:chess"}, UnknownGame, "^no game 'no:chess' is installed"),
        ({"game": ""}, UnknownGame, "^no game '' is installed"),
        (
            {"game": "nim", "parameters": {"heap": 3}},
            BadParameters,
            r"^nim has no parameter 'heap' \(did you mean heaps\? there are: heaps, misere, repeat, first_to\)",
        ),
        (
            {"game": "tic_tac_toe", "parameters": {"repeat": "often"}},
            BadParameters,
            "^repeat must be a whole number from 1 to 1000, found 'often'",
        ),
        ({"parameters": {"max_number": 0}}, BadParameters, "^min_number and max_number must be integers in order"),
        ({"game": "nim", "league_id": "../x"}, UserError, "^league_id: expected up to 100 letters"),
    ],
)
def test_a_game_that_can_not_be_played_so_is_refused_with_what_there_is(
    plan: PlanMaker, wish: dict[str, object], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        plan(**wish)


def test_a_game_that_the_registry_has_as_inactive_is_not_offered(home: Path, plan: PlanMaker) -> None:
    path = home / "config" / "games" / "games_registry.json"
    registry = json.loads(path.read_text(encoding="utf-8"))
    for game in registry["games"]:
        game["active"] = game["game_type"] == "nim"
    path.write_text(json.dumps(registry), encoding="utf-8")
    assert plan(game="nim").league.game_type == "nim"
    with pytest.raises(UserError, match=r"tic_tac_toe isn't offered here: .*games_registry\.json says `active: false`"):
        plan(game="tic_tac_toe")
    with pytest.raises(UserError, match="even_odd isn't offered here"):
        plan()


@pytest.mark.parametrize(("players", "referees"), [(2, 1), (4, 2), (6, 1)])
def test_a_handful_of_agents_have_a_process_each(plan: PlanMaker, players: int, referees: int) -> None:
    made = plan(players=players, referees=referees)
    assert made.group_by_process(cores=2) == [(seat,) for seat in made.agent_plans]


@pytest.mark.parametrize(("players", "referees", "cores"), [(7, 1, 2), (100, 4, 2), (100, 4, 8), (10, 1, 64)])
def test_above_a_handful_agents_share_processes(plan: PlanMaker, players: int, referees: int, cores: int) -> None:
    made = plan(players=players, referees=referees)
    processes = made.group_by_process(cores)
    assert processes[0] == (made.manager,)
    assert 3 <= len(processes) <= 1 + cores
    assert sorted(seat.port for process in processes for seat in process) == [seat.port for seat in made.agent_plans]
    assert_each_kind_is_spread(made, processes)


def assert_each_kind_is_spread(made: LeaguePlan, processes: list[tuple[AgentPlan, ...]]) -> None:
    """No process has much more of a kind than another, and none mixes kinds."""
    for kind in (made.referees, made.players):
        sizes = [len(process) for process in processes if process[0] in kind]
        assert max(sizes) - min(sizes) <= 1
        assert sum(sizes) == len(kind)
