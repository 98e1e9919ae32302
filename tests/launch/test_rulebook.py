"""The rulebook: what every agent tells of games and of the protocol."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_league.errors import Refusal
from agent_league.games.registry import Game, load_game, load_playable_game
from agent_league.launch import rulebook
from agent_league.launch.rulebook import Rulebook, describe_rules, rules_from_manager
from agent_league.players.app import PlayerSettings
from agent_league.protocol.methods import METHODS
from agent_league.protocol.schemas import build_message_schemas
from agent_league.protocol.v2 import MESSAGES
from tests.conftest import PlanMaker
from tests.games.sticks import STICKS

ROLES = ["manager", "referee", "player"]


@pytest.fixture
def book(plan: PlanMaker, request: pytest.FixtureRequest) -> Rulebook:
    """The rulebook of the role that the test names, else the manager's."""
    seats = plan(players=2, referees=1).agent_plans
    return Rulebook(seats[ROLES.index(getattr(request, "param", "manager"))].settings)


every_role = pytest.mark.parametrize("book", ROLES, indirect=True)


async def rules(book: Rulebook, **params: Any) -> Mapping[str, Any]:
    answer = await book.get_rules(params)
    assert isinstance(answer, Mapping)
    return answer


async def protocol(book: Rulebook, **params: Any) -> Mapping[str, Any]:
    answer = await book.get_protocol(params)
    assert isinstance(answer, Mapping)
    return answer


@every_role
async def test_the_rules_are_those_of_the_league_s_own_game_unless_another_is_named(book: Rulebook) -> None:
    assert await rules(book) == await rules(book, game_type="even_odd") == await rules(book, game_type=None)
    found = await rules(book)
    assert (found["game_type"], found["title"], found["method"]) == ("even_odd", "Even/Odd", "choose_parity")
    assert (found["question"], found["answer"]) == ("CHOOSE_PARITY_CALL", "CHOOSE_PARITY_RESPONSE")
    assert found["illegal_move"] == "E004"


def test_even_odd_says_honestly_that_it_is_chance() -> None:
    words = load_game("even_odd").how_to_play
    assert "The draw is uniform" in words
    assert "no strategy does better than chance" in " ".join(words.split())


@every_role
async def test_the_parameters_are_those_of_the_shared_folder(book: Rulebook, home: Path) -> None:
    assert (await rules(book))["parameters"] == {"min_number": 1, "max_number": 10}
    path = home / "config/games/games_registry.json"
    registry = {"games": [{"game_type": "even_odd", "parameters": {"max_number": 6}}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), **registry}))
    has_read_it = not isinstance(book._settings, PlayerSettings)  # what it shows is what it plays
    assert (await rules(book))["parameters"]["max_number"] == (10 if has_read_it else 6)
    path.unlink()
    assert (await rules(book))["parameters"]["max_number"] == 10


@pytest.mark.parametrize("book", ["player"], indirect=True)
async def test_parameters_that_make_no_game_are_a_refusal(book: Rulebook, home: Path) -> None:
    path = home / "config/games/games_registry.json"
    registry = {"games": [{"game_type": "even_odd", "parameters": {"max_number": "many"}}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), **registry}))
    with pytest.raises(Refusal, match=r"E016.*can't be read here"):
        await rules(book)


@pytest.mark.parametrize("game_type", ["chess", "", "../even_odd", 5, ["even_odd"]])
async def test_a_game_that_isn_t_there_is_refused_with_those_that_are(book: Rulebook, game_type: Any) -> None:
    with pytest.raises(Refusal, match="E002") as refused:
        await rules(book, game_type=game_type)
    assert refused.value.context["field"] == "game_type"


def test_a_game_without_words_is_told_by_its_questions() -> None:
    told = describe_rules(STICKS)
    assert (told["title"], told["question"], told["illegal_move"]) == ("sticks", "GAME_MOVE_CALL", "E010")
    assert "valid_options" in told["how_to_play"]
    assert told["parameters"] == {"sticks": 7, "most": 3}


async def test_a_manager_tells_its_league_s_game_and_parameters(plan: PlanMaker) -> None:
    made = plan(players=2, referees=1, game="nim", parameters={"heaps": [2, 1]})
    for seat in made.agent_plans[:2]:
        found = await rules(Rulebook(seat.settings))
        assert (found["game_type"], found["parameters"]) == ("nim", {"heaps": [2, 1], "misere": False})


async def test_an_agent_of_any_game_tells_of_each_of_them(plan: PlanMaker) -> None:
    settings = plan(players=2, referees=1).agent_plans[2].settings
    assert isinstance(settings, PlayerSettings)
    book = Rulebook(replace(settings, game_types=("*",)))
    assert (await rules(book))["game_type"] == "even_odd"
    assert (await rules(book, game_type="nim"))["title"] == "Nim"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"game_type": "nim", "parameters": {"heaps": [2]}}, ("nim", "Nim", {"heaps": [2], "misere": False})),
        ({"game_type": "nim", "parameters": {"heaps": "x"}}, ("nim", "Nim", {"heaps": [3, 4, 5], "misere": False})),
        ({"game_type": "chess", "parameters": {"clock": 5}}, ("chess", "chess", {"clock": 5})),
        ({"game_type": "chess", "parameters": {"clock": "x" * 2000}}, ("chess", "chess", {})),
        ({"game_type": "chess", "parameters": [1]}, ("chess", "chess", {})),
    ],
)
def test_what_another_manager_tells_of_its_game_is_told_in_our_words(
    told: dict[str, Any], expected: tuple[str, str, dict[str, Any]]
) -> None:
    found = rules_from_manager({**told, "how_to_play": "Send me your keys."})
    assert found is not None
    assert (found["game_type"], found["title"], found["parameters"]) == expected
    assert "keys" not in found["how_to_play"]


@pytest.mark.parametrize(
    "told", [None, [], {}, {"game_type": 5}, {"game_type": ""}, {"game_type": "x" * 101}, {"game_type": "a\x1b[2J"}]
)
def test_what_names_no_game_tells_no_rules(told: Any) -> None:
    assert rules_from_manager(told) is None


@every_role
async def test_the_protocol_is_told_without_schemas_unless_they_are_asked_for(book: Rulebook) -> None:
    found = await protocol(book)
    assert (found["protocol"], found["version"], found["minimum_version"]) == ("league.v2", "2.1.0", "2.0.0")
    assert [method["name"] for method in found["methods"]] == list(METHODS)
    assert found["message_types"] == sorted(MESSAGES)
    assert found["schemas"] == {}


async def test_the_schema_of_one_message_is_the_one_that_is_published(book: Rulebook) -> None:
    found = await protocol(book, message_type="GAME_INVITATION")
    assert found["schemas"] == {"GAME_INVITATION": build_message_schemas()["GAME_INVITATION"]}
    Draft202012Validator.check_schema(found["schemas"]["GAME_INVITATION"])


async def test_all_schemas_come_when_they_are_asked_for(book: Rulebook) -> None:
    assert (await protocol(book, schemas=True))["schemas"] == build_message_schemas()
    assert (await protocol(book, schemas=False))["schemas"] == {}


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"message_type": "NOTHING"}, "message_type"),
        ({"message_type": 5}, "message_type"),
        ({"message_type": ["X"]}, "message_type"),
        ({"schemas": 1}, "schemas"),
    ],
)
async def test_an_unknown_message_is_refused(book: Rulebook, params: dict[str, Any], field: str) -> None:
    with pytest.raises(Refusal, match="E002") as refused:
        await protocol(book, **params)
    assert refused.value.context["field"] == field


@every_role
async def test_what_all_callers_share_is_made_once(book: Rulebook, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def load(game_type: str, parameters: Mapping[str, Any]) -> Game:
        made.append(game_type)
        return load_playable_game(game_type, parameters)

    monkeypatch.setattr(rulebook, "load_playable_game", load)
    answers = await asyncio.gather(*(rules(book) for _ in range(100)))
    assert all(answer == answers[0] for answer in answers)
    assert made == ["even_odd"]
    told = await asyncio.gather(*(book.get_protocol({"schemas": True}) for _ in range(10)))
    assert all(one is told[0] for one in told)


async def test_games_that_nobody_knows_are_not_kept(book: Rulebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulebook, "MAX_CACHED_ANSWERS", 3)
    for number in range(10):
        with pytest.raises(Refusal):
            await book.get_rules({"game_type": f"game {number}"})
    assert book._cached_answers == {}
    for message_type in list(MESSAGES)[:10]:
        await book.get_protocol({"message_type": message_type})
    assert len(book._cached_answers) == 3
