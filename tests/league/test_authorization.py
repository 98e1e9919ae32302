"""The gate: who may call what, by token and sender."""

import json
from typing import Any

import pytest

from agent_league.league.match_tokens import create_token, hash_token, hashes_match
from agent_league.protocol.v1.ids import derive_league_uuid
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, MANAGER, Office
from tests.protocol.examples_v1 import example as v1

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
    for sender in ("player:P01", "referee:REF01", "player:REF01", "league_manager"):
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
@pytest.mark.parametrize("shown", [None, "tok-p99-guess", "player:P01", "referee:REF01"])
@pytest.mark.parametrize(
    ("sender", "code", "field", "asked_for"),
    [
        ("player:P99", "E005", "player_id", ("P99", "LEAGUE_REGISTER_REQUEST")),
        ("player:nobody", "E005", "player_id", ("nobody", "LEAGUE_REGISTER_REQUEST")),
        ("referee:REF99", "E013", "referee_id", (None, None)),
        ("referee:nobody", "E013", "referee_id", (None, None)),
    ],
)
async def test_a_sender_whom_nobody_knows_is_told_so_before_its_token_is_judged(
    office: OfficeMaker, call: Any, shown: str | None, sender: str, code: str, field: str, asked_for: Any
) -> None:
    here = office()
    token = None if shown is None else (await tokens(here)).get(shown, shown)
    answer = await call(here, sender, token)
    assert (answer["error_code"], answer["context"][field]) == (code, sender.partition(":")[2])
    assert (answer["affected_player"], answer["action_required"]) == asked_for
    assert answer["context"].get("provided_token") == (None if token is None else "[redacted]")


async def test_a_caller_that_names_no_sender_is_asked_for_its_token(office: OfficeMaker) -> None:
    here = office()
    answer = await here.manager.dispatcher.call_method("league_query", QUERY)
    assert answer["error_code"] == "E011"


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
    assert len({create_token("P01", 32) for _ in range(100)}) == 100


def test_a_hash_tells_tokens_apart_and_does_not_show_them() -> None:
    token = create_token("P01", 32)
    assert hashes_match(hash_token(token), hash_token(token))
    assert not hashes_match(hash_token(token), hash_token(token + "0"))
    assert token not in hash_token(token)


async def aliases(office: Office) -> dict[str, str]:
    """As `tokens`, but the second player asked for the id of the first, and all have names of their own."""
    made = {}
    for number, wanted in ((1, "alpha"), (2, "P01")):
        endpoint = f"http://localhost:{8100 + number}/mcp"
        answer = await office.register(f"Agent {number}", endpoint, sender=f"player:{wanted}")
        made[answer["player_id"]] = answer["auth_token"]
    answer = await office.register("Referee", "http://localhost:8001/mcp", role="referee", sender="referee:judge")
    made[answer["referee_id"]] = answer["auth_token"]
    return made


@pytest.mark.parametrize(
    ("sender", "owner"),
    [
        ("player:alpha", "P01"),
        ("player:Agent 1", "P01"),
        ("player:Agent 2", "P02"),
        ("player:P01", "P02"),  # the id that it asked for, which is somebody else's: the token tells who it is
        ("referee:judge", "REF01"),
        ("referee:Referee", "REF01"),
        ("referee:referee", "REF01"),
    ],
)
async def test_one_that_goes_on_using_its_own_name_is_known_by_its_token(
    office: OfficeMaker, sender: str, owner: str
) -> None:
    here = office()
    token = (await aliases(here))[owner]
    assert (await ask(here, sender, token))["success"] is True
    if sender.startswith("referee"):
        assert (await report(here, sender, token))["error_code"] == "E007"  # let in; there is no such match yet


@pytest.mark.parametrize(
    ("sender", "owner", "code"),
    [
        ("player:P02", "P01", "E012"),  # somebody else's, and never asked for
        ("player:alpha", "P02", "E005"),
        ("player:Agent 1", "P02", "E005"),
        ("player:REF01", "P01", "E012"),
        ("referee:alpha", "P01", "E013"),
        ("referee:referee", "P01", "E013"),
        ("player:referee", "REF01", "E005"),
        ("player:judge", "REF01", "E005"),
        ("player:", "P01", "E002"),
        ("player:agent 1", "P01", "E005"),
    ],
)
async def test_a_name_that_is_somebody_else_s_or_nobody_s_opens_nothing(
    office: OfficeMaker, sender: str, owner: str, code: str
) -> None:
    here = office()
    token = (await aliases(here))[owner]
    answer = await ask(here, sender, token)
    assert answer["error_code"] == code
    assert token not in str(answer)


async def test_a_name_is_worth_nothing_without_the_token(office: OfficeMaker) -> None:
    here = office()
    await aliases(here)
    for token in (None, "tok-p01-guess"):
        assert (await ask(here, "player:alpha", token))["error_code"] == "E005"


async def test_an_answer_is_about_the_one_whose_token_it_is_whatever_it_calls_itself(office: OfficeMaker) -> None:
    here = office()
    token = (await aliases(here))["P02"]
    for sender in ("player:Agent 2", "player:P01"):
        answer = await ask(here, sender, token, query_type="GET_PLAYER_STATS")
        assert answer["data"]["player_id"] == "P02"
    member = here.manager.state.roster.get("P02")
    assert member is not None
    assert member.protocol_profile.deviations == (
        "'sender' 'player:Agent 2' for 'player:P02'",
        "'sender' 'player:P01' for 'player:P02'",
    )


async def test_a_strict_gate_knows_nobody_by_another_name(office: OfficeMaker) -> None:
    here = office({"tolerance.strict": True})
    made = await aliases(here)
    for sender, owner in (("player:alpha", "P01"), ("player:Agent 1", "P01"), ("referee:judge", "REF01")):
        assert (await ask(here, sender, made[owner]))["error_code"] == ("E013" if owner == "REF01" else "E005")
    assert (await ask(here, "player:P01", made["P01"]))["success"] is True


@pytest.mark.parametrize("strict", [False, True])
async def test_a_referee_of_v1_is_known_by_its_token_alone(office: OfficeMaker, strict: bool) -> None:
    """There, every referee signs as `referee`."""
    here = office({"tolerance.strict": strict})
    made = await aliases(here)
    message = {**v1("GAME_RESULT"), "league_id": here.manager.state.league_uuid}
    for token, code in ((None, "E013"), (made["P01"], "E013"), (made["REF01"], "E007")):
        _, body = await here.network.exchange(MANAGER, json.dumps(message).encode(), 10, token)
        assert json.loads(body)["error_code"] == code


async def test_with_tokens_turned_off_a_referee_of_v1_is_still_known_by_the_one_it_shows(office: OfficeMaker) -> None:
    here = office(NO_TOKENS)
    made = await aliases(here)
    message = json.dumps({**v1("GAME_RESULT"), "league_id": here.manager.state.league_uuid}).encode()
    for token, code in ((None, "E013"), ("tok-wrong", "E013"), (made["P01"], "E013"), (made["REF01"], "E007")):
        _, body = await here.network.exchange(MANAGER, message, 10, token)
        assert json.loads(body)["error_code"] == code


async def test_the_league_has_a_uuid_too(office: OfficeMaker) -> None:
    here = office()
    token = (await tokens(here))["player:P01"]
    own = here.manager.state.league_uuid
    for league_id, code in (
        (own.upper(), None),
        (derive_league_uuid(LEAGUE_ID), "E008"),
        (derive_league_uuid("other"), "E008"),
    ):
        assert (await ask(here, "player:P01", token, league_id=league_id)).get("error_code") == code


async def test_a_name_of_any_length_is_not_kept(office: OfficeMaker) -> None:
    here = office()
    for length in (100, 101):
        answer = await here.register(
            f"Agent {length}", f"http://localhost:{9000 + length}/mcp", sender="player:" + "x" * length
        )
        member = here.manager.state.roster.get(answer["player_id"])
        assert member is not None
        assert member.alias == ("x" * 100 if length == 100 else None)
