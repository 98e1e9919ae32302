"""The gate: who may call what, by token and sender."""

from typing import Any

import pytest

from agent_league.league.tokens import new_token, same_hash, token_hash
from tests.league.conftest import OfficeMaker
from tests.league.office import Office

NO_TOKENS = {"security.enable_auth_tokens": False}
REPORT = {"match_id": "R1M1", "result": {"winner": None, "score": {}}}
QUERY = {"query_type": "GET_STANDINGS"}


async def ask(office: Office, sender: str, token: str | None, **fields: Any) -> Any:
    return await office.say("league_query", "LEAGUE_QUERY", sender, auth_token=token, **{**QUERY, **fields})


async def report(office: Office, sender: str, token: str | None, **fields: Any) -> Any:
    message = {**REPORT, **fields}
    return await office.say("report_match_result", "MATCH_RESULT_REPORT", sender, auth_token=token, **message)


async def tokens(office: Office) -> dict[str, str]:
    """Two players and a referee; their tokens by sender."""
    made = {}
    for number in (1, 2):
        answer = await office.register(f"Agent {number}", f"http://localhost:{8100 + number}/mcp")
        made[f"player:{answer['player_id']}"] = answer["auth_token"]
    answer = await office.register("Referee", "http://localhost:8001/mcp", role="referee")
    made[f"referee:{answer['referee_id']}"] = answer["auth_token"]
    return made


@pytest.mark.parametrize("call", [ask, report])
async def test_a_call_without_token_is_refused_with_e011(office: OfficeMaker, call: Any) -> None:
    here = office()
    await tokens(here)
    for sender in ("player:P01", "referee:REF01", "player:P99"):
        answer = await call(here, sender, None)
        assert answer["error_code"] == "E011"
        assert "auth_token" in answer["message"]


@pytest.mark.parametrize("call", [ask, report])
@pytest.mark.parametrize(
    ("sender", "owner"),
    [
        ("player:P01", "player:P02"),
        ("player:P01", "referee:REF01"),
        ("referee:REF01", "player:P01"),
        ("player:P99", "player:P01"),
        ("player:REF01", "referee:REF01"),
        ("referee:P01", "player:P01"),
        ("league_manager", "player:P01"),
    ],
)
async def test_a_token_of_somebody_else_is_refused_with_e012(
    office: OfficeMaker, call: Any, sender: str, owner: str
) -> None:
    here = office()
    token = (await tokens(here))[owner]
    answer = await call(here, sender, token)
    assert answer["error_code"] == "E012"
    assert token not in str(answer)


@pytest.mark.parametrize("call", [ask, report])
@pytest.mark.parametrize("token", ["", "tok-p01-guess", "tok-p01-" + "0" * 64])
async def test_an_invented_token_is_refused_with_e012(office: OfficeMaker, call: Any, token: str) -> None:
    here = office()
    await tokens(here)
    assert (await call(here, "player:P01", token))["error_code"] == "E012"


async def test_the_admin_token_opens_nothing_but_the_start(office: OfficeMaker) -> None:
    here = office()
    await tokens(here)
    assert (await ask(here, "player:P01", here.admin_token))["error_code"] == "E012"


async def test_players_and_referees_may_ask_with_their_own_tokens(office: OfficeMaker) -> None:
    here = office()
    for sender, token in (await tokens(here)).items():
        assert (await ask(here, sender, token))["success"] is True


async def test_a_player_that_reports_a_match_is_refused_with_e013(office: OfficeMaker) -> None:
    here = office()
    token = (await tokens(here))["player:P01"]
    assert (await report(here, "player:P01", token))["error_code"] == "E013"


@pytest.mark.parametrize(
    ("call", "sender", "code"),
    [
        (ask, "player:P99", "E005"),
        (ask, "player:REF01", "E005"),
        (ask, "league_manager", "E005"),
        (ask, "referee:REF99", "E013"),
        (ask, "referee:P01", "E013"),
        (report, "referee:REF99", "E013"),
        (report, "player:P01", "E013"),
        (report, "league_manager", "E013"),
    ],
)
async def test_with_tokens_turned_off_an_unknown_sender_is_refused(
    office: OfficeMaker, call: Any, sender: str, code: str
) -> None:
    here = office(NO_TOKENS)
    await tokens(here)
    assert (await call(here, sender, None))["error_code"] == code


async def test_with_tokens_turned_off_known_senders_are_heard(office: OfficeMaker) -> None:
    here = office(NO_TOKENS)
    await tokens(here)
    assert (await ask(here, "player:P01", None))["success"] is True
    assert (await ask(here, "referee:REF01", "tok-wrong"))["success"] is True


@pytest.mark.parametrize("call", [ask, report])
async def test_a_message_for_another_league_is_refused_with_e008(office: OfficeMaker, call: Any) -> None:
    here = office()
    token = (await tokens(here))["referee:REF01"]
    answer = await call(here, "referee:REF01", token, league_id="league_1999")
    assert answer["error_code"] == "E008"
    assert answer["context"]["league_id"] == "league_1999"


async def test_the_token_is_checked_before_the_league_and_the_fields(office: OfficeMaker) -> None:
    here = office()
    await tokens(here)
    answer = await ask(here, "player:P01", "tok-wrong", league_id="league_1999", query_type=17)
    assert answer["error_code"] == "E012"


def test_a_token_is_never_made_twice() -> None:
    assert len({new_token("P01", 32) for _ in range(100)}) == 100


def test_a_hash_tells_tokens_apart_and_does_not_show_them() -> None:
    token = new_token("P01", 32)
    assert same_hash(token_hash(token), token_hash(token))
    assert not same_hash(token_hash(token), token_hash(token + "0"))
    assert token not in token_hash(token)
