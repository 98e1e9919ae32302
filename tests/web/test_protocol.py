"""The protocol's pages and the game's: what they say is what the code does."""

import json
from pathlib import Path

import jsonschema
import orjson
import pytest

from agent_league.errors import ErrorCode, JsonRpcErrorCode
from agent_league.games.fairness import find_draw_problem
from agent_league.games.registry import game_types, load_game
from agent_league.protocol import v1, v2
from agent_league.protocol.methods import METHODS
from agent_league.protocol.schemas import build_message_schemas
from agent_league.web.page import PageNotFound
from agent_league.web.pages.rules import GAME_PAGE, MESSAGE_PAGE, PROTOCOL_PAGE
from agent_league.web.protocol.messages import describe_message
from agent_league.web.rendering import mark_code
from tests.web.browsing import shown
from tests.web.seasons import reader_of, season_of

KEYS = [*v2.MESSAGES, *(f"league.v1.{name}" for name in v1.MESSAGES)]


def test_every_method_message_and_error_code_is_listed(tmp_path: Path) -> None:
    page = shown(PROTOCOL_PAGE, reader_of(season_of(2), tmp_path))
    rows = page.table("Methods")
    assert [row[0].one("code").text for row in rows] == list(METHODS)
    for row, method in zip(rows, METHODS.values(), strict=True):
        links = [link.text for cell in row[2:4] for link in cell.all("a")]
        assert links == [model.TYPE for model in (method.request, method.reply) if model]
        assert row[5].text == method.caller
    assert [row[0].text for row in page.table("Error codes of the league")] == [code.value for code in ErrorCode]
    assert [row[0].text for row in page.table("of JSON-RPC")] == [str(code.value) for code in JsonRpcErrorCode]
    assert {link.attributes["href"] for one in page.all("dl", "messages") for link in one.all("a")} == {
        f"/protocol/{key}" for key in KEYS
    }


@pytest.mark.parametrize("key", KEYS)
def test_a_messages_example_fits_its_schema_and_its_model(key: str) -> None:
    message = describe_message(key)
    example, schema = orjson.loads(message.example), orjson.loads(message.schema)
    jsonschema.validate(example, schema)
    assert example["message_type"] == key.removeprefix("league.v1.")
    model = v1.MESSAGES[message.message_type] if message.protocol == "league.v1" else v2.MESSAGES[key]
    assert model.model_validate(example).to_wire() == example
    assert "…" not in example["sender"]


@pytest.mark.parametrize("key", KEYS)
def test_every_field_has_a_type_and_a_meaning(key: str) -> None:
    message = describe_message(key)
    schema = orjson.loads(message.schema)
    own = {field.name: field.is_required for field in message.fields if "." not in field.name}
    assert own == {name: name in schema["required"] for name in schema["properties"]}
    assert all(field.meaning and field.kind for field in message.fields)


def test_a_message_page_shows_fields_example_and_schema(tmp_path: Path) -> None:
    page = shown(MESSAGE_PAGE, reader_of(season_of(2), tmp_path), "LEAGUE_REGISTER_REQUEST")
    names = [row[0].text for row in page.table("Fields of")]
    assert "player_meta.contact_endpoint" in names
    example, schema = (orjson.loads("".join(map(str, pre.inside))) for pre in page.all("pre"))
    assert schema == build_message_schemas()["LEAGUE_REGISTER_REQUEST"]
    jsonschema.validate(example, schema)
    assert "register_player" in page.text
    assert "LEAGUE_REGISTER_RESPONSE" in page.text


def test_the_example_of_a_fair_draw_can_be_checked() -> None:
    invitation, over = describe_message("GAME_INVITATION"), describe_message("GAME_OVER")
    promised, told = orjson.loads(invitation.example), orjson.loads(over.example)
    problem = find_draw_problem(
        game_type="even_odd",
        parameters=promised["game_parameters"],
        players=("P01", "P02"),
        promised=promised["draw_commitment"],
        seed=told["draw_seed"],
        result=told["game_result"],
    )
    assert problem is None


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("GAME_INVITE", "“GAME_INVITE” here. Did you mean GAME_INVITATION"),
        ("game_over", "“game_over” here. Did you mean GAME_OVER"),
        ("league.v1.START_MATCH", "Did you mean league.v1.GAME_START"),
        ("", "“” here. The page"),
        ("x" * 500, f"“{'x' * 77}...” here. The page"),
    ],
)
def test_an_unknown_message_is_told_with_those_like_it_and_where_all_are(key: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PageNotFound) as error:
        MESSAGE_PAGE.read_data(reader_of(season_of(2), tmp_path), key)
    assert told in str(error.value)
    assert str(error.value).endswith(f"The page Protocol has all {len(KEYS)}.")


def test_words_between_marks_are_code_and_nothing_else_is_markup() -> None:
    assert mark_code("a `b<c` <d>") == "a <code>b&lt;c</code> &lt;d&gt;"


@pytest.mark.parametrize("game_type", game_types())
def test_the_games_page_has_its_rules_parameters_and_messages(game_type: str, tmp_path: Path) -> None:
    game = load_game(game_type)
    page = shown(GAME_PAGE, reader_of(season_of(2, game_type=game_type), tmp_path))
    assert page.one("h1").text == game.title
    last_words = game.how_to_play.replace("`", " ").split()[-8:]
    assert " ".join(last_words) in page.text
    parameters = {row[0].text: row[1].text for row in page.table("Parameters")} if game.parameters else {}
    assert parameters == {name: json.dumps(value) for name, value in game.parameters.items()}
    assert f"/protocol/{game.wire.call.TYPE}" in {link.attributes["href"] for link in page.all("a")}


def test_a_game_that_isnt_installed_here_is_said_so(tmp_path: Path) -> None:
    page = shown(GAME_PAGE, reader_of(season_of(2, game_type="chess_on_mars"), tmp_path))
    assert "The rules can't be read here: no game 'chess_on_mars' is installed" in page.text
