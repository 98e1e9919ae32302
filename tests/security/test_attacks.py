"""Attacks on who may say what: stolen tokens, forged reports, impersonated agents, questions asked in advance.

Each attack fails, with the code of its refusal, and the league is played to its end as if nobody had tried.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from agent_league.launch.league_start import start_new_league
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.peers import Params
from tests.security.stage import MATCHES, Mallory, Stage, staged, unsigned

FORGED = {
    "start_match": "START_MATCH",
    "notify_round": "ROUND_ANNOUNCEMENT",
    "update_standings": "LEAGUE_STANDINGS_UPDATE",
    "notify_round_completed": "ROUND_COMPLETED",
    "notify_league_completed": "LEAGUE_COMPLETED",
}
STEPS = ("register_to_league", "collect_choices", "draw_number", "finalize_match")


def codes(answers: Mapping[Any, Any]) -> dict[Any, str]:
    """The code of each refusal; for what was not refused, the answer itself."""
    return {attack: str(answer.get("error_code", answer)) for attack, answer in answers.items()}


def seen_by_mallory(stage: Stage) -> dict[str, str]:
    """Every token that a player comes to see in the course of a match."""
    own = stage.mallory.token
    beside = {call.bearer for call in stage.network.calls if call.endpoint == stage.mallory.endpoint}
    shown = {str(params["auth_token"]) for _, params in stage.mallory.received_calls if params.get("auth_token")}
    assert own
    assert len(shown) == 1
    assert len(beside) > 1, "the manager's token and the match's"
    return {"own": own, **{f"beside {number}": str(token) for number, token in enumerate(sorted(map(str, beside)))}}


async def test_what_a_referee_shows_a_player_opens_nothing_at_the_manager(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        match_id = stage.mallory.invitation["match_id"]
        senders = ("referee:REF01", "referee:REF02", "league_manager", f"player:{stage.victim}")
        answers = {}
        for name, token in seen_by_mallory(stage).items():
            for sender in senders:
                answers[name, sender] = await stage.report(sender, token, match_id, winner=stage.mallory.player_id)
            answers[name, "start"] = await stage.start(token)
        assert set(codes(answers).values()) == {"E012"}
        own = await stage.report(f"player:{stage.mallory.player_id}", stage.mallory.token, match_id)
        assert own["error_code"] == "E013"
        assert match_id not in stage.manager.state.results
        await stage.ends_unharmed()


async def test_a_stolen_referee_token_is_good_in_its_owners_hand_alone(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        match_id = stage.mallory.invitation["match_id"]
        owner = stage.manager.state.assigned_referees[match_id]
        other = next(referee for referee in stage.referees if referee != owner)
        stolen, winner = stage.token_of(owner), stage.mallory.player_id
        answers = {
            sender: await stage.report(sender, stolen, match_id, winner=winner)
            for sender in (f"player:{winner}", f"referee:{other}", "league_manager", f"player:{owner}", "referee:REF99")
        }
        found = codes(answers)
        assert found.pop("referee:REF99") == "E013"  # nobody has this id, whatever its token
        assert set(found.values()) == {"E012"}
        theirs = await stage.report(f"referee:{other}", stage.token_of(other), match_id, winner=winner)
        assert theirs["error_code"] == "E007"
        await stage.ends_unharmed()


async def test_a_forged_report_is_refused_whatever_is_false_in_it(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        match_id, victim = stage.mallory.invitation["match_id"], stage.victim
        owner = stage.manager.state.assigned_referees[match_id]
        sender, token = f"referee:{owner}", stage.token_of(owner)
        bystander = next(player for player in stage.players if player != victim)
        later = stage.manager.state.schedule.rounds[-1].pairings[0]
        answers = {
            "a match that nobody was given": await stage.report(sender, token, later.match_id, winner=later.player_a),
            "no match": await stage.report(sender, token, "R9M9", winner=victim),
            "a path": await stage.report(sender, token, "../../R1M1", winner=victim),
            "a winner who does not play": await stage.report(sender, token, match_id, winner=bystander),
            "a winner of a draw": await stage.report(sender, token, match_id, winner=victim, status="DRAW"),
            "a win for nobody": await stage.report(sender, token, match_id, status="WIN"),
            "no such ending": await stage.report(sender, token, match_id, winner=victim, status="GLORY"),
            "another league": await stage.say(
                "manager",
                "report_match_result",
                "MATCH_RESULT_REPORT",
                sender,
                auth_token=token,
                league_id="league_1999",
                match_id=match_id,
                result={"winner": victim, "score": {}},
            ),
        }
        assert codes(answers) == {
            "a match that nobody was given": "E007",
            "no match": "E007",
            "a path": "E007",
            "a winner who does not play": "E002",
            "a winner of a draw": "E002",
            "a win for nobody": "E002",
            "no such ending": "E002",
            "another league": "E008",
        }
        await stage.ends_unharmed()


async def test_a_result_that_stands_stays_and_its_report_said_again_changes_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.ends_unharmed()
        before = stage.manager.state.standings()
        reports = stage.network.heard("report_match_result")
        assert len(reports) == MATCHES
        for report in reports:
            assert await stage.send(report.endpoint, report.frame) == {"status": "ok"}
            players = stage.manager.state.results[report.params["match_id"]].players
            for winner in {*players, None} - {report.params["result"]["winner"]}:
                other = await stage.report(
                    report.params["sender"], report.params["auth_token"], report.params["match_id"], winner=winner
                )
                assert other["error_code"] == "E002"
        assert stage.manager.state.standings() == before


@pytest.mark.parametrize("new", ["a later season of the same league", "another league"])
async def test_what_was_said_in_one_league_counts_in_no_other(tmp_path: Path, new: str) -> None:
    """Everything is said again, with the tokens that it was said with, to the agents of the next league."""
    home, league_id = tmp_path / "SHARED", None
    async with staged(home) as stage:
        await stage.ends_unharmed()
        old = list(stage.network.calls)
        if new == "another league":
            league_id = "league_of_mallory"
            leagues = home / "config" / "leagues"
            content = json.loads((leagues / f"{stage.league_id}.json").read_text())
            (leagues / f"{league_id}.json").write_text(json.dumps({**content, "league_id": league_id}))
    start_new_league(home, stage.league_id, None)
    async with staged(home, league_id=league_id) as stage:
        accepted = []
        for call in old:
            if call.endpoint != stage.mallory.endpoint and not call.method.startswith("register_"):
                answer = await stage.send(call.endpoint, call.frame, call.bearer)
                if answer.get("error_code") not in ("E008", "E012") and call.method != "get_match_state":
                    accepted.append((call.method, answer))
        assert accepted == []
        await stage.ends_unharmed()


async def test_nobody_registers_as_somebody_else(tmp_path: Path) -> None:
    """Also in a league on one machine, where the same name at the same address may come back without its token."""
    async with staged(tmp_path, started=False) as stage:
        own = "http://localhost:8199/mcp"
        key = "0123456789abcdef" * 4
        answers: dict[tuple[str, str], Any] = {}
        for role, agent_id in (("player", "P01"), ("referee", "REF01")):
            agent = stage.manager.state.roster.get(agent_id)
            assert agent is not None
            name, endpoint = agent.agent.display_name, agent.agent.endpoint
            sender = f"{role}:{agent_id}"
            answers |= {
                (role, "name"): await stage.register(role, name, own, sender),
                (role, "name and address"): await stage.register(role, name, endpoint, sender),
                (role, "name and a key"): await stage.register(role, name, own, sender, application_key=key),
                (role, "all"): await stage.register(role, name, endpoint, sender, application_key=key),
                (role, "capitals"): await stage.register(role, name.upper(), endpoint, sender),
                (role, "another width"): await stage.register(role, name.replace("A", "\uff21"), own, sender),
            }
        assert {attack: answer["reason"] for attack, answer in answers.items()} == dict.fromkeys(
            answers, "Duplicate display name"
        )
        assert {answer["auth_token"] for answer in answers.values()} == {None}
        for agent_id, role in (("P01", "player"), ("REF01", "referee")):
            token = await stage.register(role, "Mallory", own, f"{role}:{agent_id}", auth_token=stage.mallory.token)
            assert token[f"{role}_id"] != agent_id, "an id that is taken is not given twice"
        await _still_themselves(stage)


async def test_a_token_of_ones_own_or_a_made_up_one_makes_nobody_somebody_else(tmp_path: Path) -> None:
    async with staged(tmp_path, started=False) as stage:
        await stage.mallory.register(stage.network, stage.endpoints["manager"])
        mine, address = stage.mallory.token, stage.mallory.endpoint
        answers = {
            "their id, my token": await stage.register("player", "Mallory", address, "player:P01", auth_token=mine),
            "their id, no token": await stage.register(
                "player", "M", address, "player:P01", auth_token="tok-p01-" + "0" * 64
            ),
            "a referee's id": await stage.register("referee", "M", address, "referee:REF01", auth_token=mine),
        }
        assert set(codes(answers).values()) == {"E012"}
        empty = await stage.register("player", "M", address, "player:P01", auth_token="")
        assert empty["player_id"] not in (None, "P01"), "an empty token is none, and gives a new player its own id"
        roster = stage.manager.state.roster
        assert [member.agent_id for member in roster].count("P01") == 1
        member = roster.get("P01")
        assert member is not None
        stolen_name = await stage.register(
            "player", member.agent.display_name, address, f"player:{stage.mallory.player_id}", auth_token=mine
        )
        assert stolen_name["reason"] == "Duplicate display name"
        await _still_themselves(stage)


async def test_an_applicants_key_is_told_to_nobody_and_can_not_be_guessed_from_what_is(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        keys = {str(call.params["application_key"]) for call in stage.network.calls if "application_key" in call.params}
        assert len(keys) == len(stage.referees) + len(stage.players)
        assert {len(bytes.fromhex(key)) for key in keys} == {32}
        for call in stage.network.calls:
            if call.endpoint != stage.endpoints["manager"]:
                assert not [key for key in keys if key in call.frame.decode()]
        await stage.ends_unharmed()


async def _still_themselves(stage: Stage) -> None:
    """Everybody has the token and the address that they had, and plays with them."""
    for agent_id, endpoint in stage.endpoints.items():
        if agent_id == "manager":
            continue
        member = stage.manager.state.roster.get(agent_id)
        assert member is not None
        assert member.agent.endpoint == endpoint
        role = "referee" if agent_id in stage.referees else "player"
        answer = await stage.say(
            "manager",
            "league_query",
            "LEAGUE_QUERY",
            f"{role}:{agent_id}",
            auth_token=stage.token_of(agent_id),
            query_type="GET_STANDINGS",
        )
        assert answer["success"] is True


class InAnothersName(Mallory):
    """Answers as if P01 had."""

    def chosen(self, params: Params) -> Any:
        false = {"sender": "player:P01", "player_id": "P01", "match_id": "R9M9", "auth_token": "tok-p01-" + "0" * 64}
        return {**super().chosen(params), **false}


async def test_whoever_answers_in_anothers_name_has_answered_for_itself(tmp_path: Path) -> None:
    async with staged(tmp_path, guest=InAnothersName) as stage:
        await stage.ends_unharmed()
        player_id = stage.mallory.player_id
        told = [over["game_result"]["choices"] for over in stage.mallory.received_params("notify_match_result")]
        assert [choices[player_id] for choices in told] == ["odd"] * 3
        repository = MatchRepository(stage.league_id, stage.home)
        for match_id, result in stage.manager.state.results.items():
            match = repository.load(match_id)
            assert match is not None
            assert set(match["moves"][0]) == set(result.players)


async def test_where_tokens_are_required_an_answer_with_anothers_is_none(tmp_path: Path) -> None:
    async with staged(tmp_path, {"security.require_player_tokens": True}, guest=InAnothersName) as stage:
        stage.mallory.released.set()
        await stage.manager.completed.wait()
        player_id, results = stage.mallory.player_id, list(stage.manager.state.results.values())
        lost = [result for result in results if player_id in result.players]
        assert [dict(result.terminations) for result in lost] == [{player_id: "bad_token"}] * 3
        assert [dict(result.terminations) for result in results if result not in lost] == [{}] * 3


def _passes(stage: Stage, match_id: str, referee_id: str) -> dict[str, str | None]:
    """What somebody may show who wants to know a choice before it is due; all but the right pass."""
    key, victim, mine = stage.signing_key(), stage.victim, stage.mallory.player_id
    now = datetime.now(UTC)

    def signed(by: SigningKey = key, **other: Any) -> str:
        right: dict[str, Any] = {
            "league_id": stage.league_id,
            "match_id": match_id,
            "referee_id": referee_id,
            "players": (victim, mine),
            "audience": [victim],
            "now": now,
            "lifetime": 3600,
        }
        return by.sign_match_token(**{**right, **other})

    return {
        "nothing": None,
        "a made-up token": "tok-match-0123456789",
        "the opponent's own": stage.mallory.invitation["auth_token"],
        "another match's": signed(match_id="R3M2"),
        "another referee's": signed(referee_id="REF99"),
        "one for other players": signed(players=("P98", "P99")),
        "one for somebody else's eyes": signed(audience=[mine]),
        "one of another league": signed(league_id="league_1999"),
        "an old one": signed(now=now - timedelta(hours=3)),
        "one with a key of one's own": signed(SigningKey.generate()),
        "one without signature": unsigned(signed()),
        "the manager's own": key.sign_manager_token(league_id=stage.league_id, audience=victim, now=now, lifetime=3600),
        "the victim's league token": stage.token_of(victim),
        "a referee's league token": stage.token_of(referee_id),
    }


@pytest.mark.parametrize("method", ["choose_parity", "make_move", "handle_game_invitation", "notify_match_result"])
async def test_a_player_is_asked_and_told_by_the_referee_of_its_match_alone(tmp_path: Path, method: str) -> None:
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "choose_parity": ("CHOOSE_PARITY_CALL", {}),
        "make_move": (
            "GAME_MOVE_CALL",
            {
                "game_type": "even_odd",
                "move_request": {"move_type": "x", "valid_options": ["even"], "step": 0, "your_role": "PLAYER_A"},
            },
        ),
        "handle_game_invitation": ("GAME_INVITATION", {}),
        "notify_match_result": ("GAME_OVER", {"game_result": {"status": "WIN", "winner_player_id": "P04"}}),
    }
    async with staged(tmp_path) as stage:
        match_id, victim = str(stage.mallory.invitation["match_id"]), stage.victim
        referee_id = stage.manager.state.assigned_referees[match_id]
        message_type, fields = kinds[method]
        fields = {**fields, "match_id": match_id}
        answers = {}
        for name, token in _passes(stage, match_id, referee_id).items():
            for place in ("in the message", "beside it"):
                inside, beside = (token, None) if place == "in the message" else (None, token)
                answers[name, place] = await stage.say(
                    victim, method, message_type, f"referee:{referee_id}", beside, auth_token=inside, **fields
                )
        expected = {attack: "E011" if attack[0] == "nothing" else "E012" for attack in answers}
        assert codes(answers) == expected
        for sender in (f"player:{stage.mallory.player_id}", "league_manager"):
            pass_ = stage.mallory.invitation["auth_token"]
            answer = await stage.say(victim, method, message_type, sender, pass_, auth_token=pass_, **fields)
            assert answer["error_code"] == "E012"
        assert not [answer for answer in answers.values() if "parity_choice" in str(answer) or "move_data" in answer]
        await stage.ends_unharmed()


async def test_a_referees_own_calls_said_again_get_the_same_answers_and_change_nothing(tmp_path: Path) -> None:
    """Who can listen to the wire has worse at hand than this; but a frame that is doubled must be harmless."""
    async with staged(tmp_path) as stage:
        await stage.ends_unharmed()
        before = {player_id: list(player.games) for player_id, player in stage.players.items()}
        asked = ("handle_game_invitation", "choose_parity", "notify_match_result")
        calls = [call for call in stage.network.calls if call.method in asked]
        for call in [call for call in calls if call.endpoint != stage.mallory.endpoint]:
            answer = await stage.send(call.endpoint, call.frame, call.bearer)
            assert "error_code" not in answer
        assert {player_id: list(player.games) for player_id, player in stage.players.items()} == before


def _manager_bearers(stage: Stage, agent_id: str) -> dict[str, str | None]:
    """What somebody may show who claims to be the manager; all but the right token."""
    now = datetime.now(UTC)
    right: dict[str, Any] = {"league_id": stage.league_id, "audience": agent_id, "now": now, "lifetime": 600}
    key = stage.signing_key()
    mine = [call.bearer for call in stage.network.heard("notify_round", stage.mallory.endpoint)]
    return {
        "nothing": None,
        "the match's pass": stage.mallory.invitation["auth_token"],
        "the manager's word to another": mine[0],
        "the admin token": stage.admin_token,
        "a league token": stage.mallory.token,
        "a key of one's own": SigningKey.generate().sign_manager_token(**right),
        "no signature": unsigned(key.sign_manager_token(**right)),
        "the public key as a secret": jwt.encode({"use": "manager"}, key.public_jwk["x"], algorithm="HS256"),
        "another league's": key.sign_manager_token(**{**right, "league_id": "league_1999"}),
        "an old one": key.sign_manager_token(**{**right, "now": now - timedelta(hours=1)}),
    }


@pytest.mark.parametrize("kind", ["referee", "player"])
async def test_nobody_speaks_for_the_manager(tmp_path: Path, kind: str) -> None:
    async with staged(tmp_path) as stage:
        match_id = str(stage.mallory.invitation["match_id"])
        agent_id = stage.victim if kind == "player" else stage.manager.state.assigned_referees[match_id]
        real = {call.method: call.params for call in stage.network.calls if call.endpoint == stage.endpoints[agent_id]}
        made_up = {
            "start_match": {**stage.network.heard("start_match")[0].params, "match_id": "R9M9", "match_token": "x"},
            "notify_league_completed": {
                "champion": {"player_id": "P04", "display_name": "Mallory", "points": 99},
                "total_rounds": 0,
                "total_matches": 0,
                "final_standings": [],
            },
            "update_standings": {"round_id": 1, "standings": []},
            "notify_round_completed": {"round_id": 1, "matches_completed": 2, "next_round_id": None, "summary": {}},
        }
        methods = [method for method in FORGED if kind == "referee" or method != "start_match"]
        answers = {}
        for name, bearer in _manager_bearers(stage, agent_id).items():
            for method in methods:
                fields = {**real.get(method, {}), **made_up.get(method, {}), "league_id": stage.league_id}
                fields = {key: value for key, value in fields.items() if key not in ("sender", "message_type")}
                answers[name, method] = await stage.say(
                    agent_id, method, FORGED[method], "league_manager", bearer, **{**fields, "auth_token": bearer}
                )
            for method in STEPS if kind == "referee" else ():
                answers[name, method] = await stage.call(agent_id, method, {"sender": "league_manager"}, bearer)
        assert codes(answers) == {attack: "E011" if attack[0] == "nothing" else "E012" for attack in answers}
        for method in methods:
            answer = await stage.say(agent_id, method, FORGED[method], f"player:{stage.mallory.player_id}")
            assert answer["error_code"] == "E012"
        await stage.ends_unharmed()


async def test_nobody_but_the_organiser_starts_the_league(tmp_path: Path) -> None:
    async with staged(tmp_path, started=False) as stage:
        await stage.mallory.register(stage.network, stage.endpoints["manager"])
        key, now = stage.signing_key(), datetime.now(UTC)
        tokens = {
            "nothing": None,
            "empty": "",
            "a player's": stage.mallory.token,
            "a referee's": stage.token_of("REF01"),
            "made up": "tok-admin-" + "0" * 64,
            "signed": key.sign_manager_token(league_id=stage.league_id, audience="organiser", now=now, lifetime=600),
            "almost": stage.admin_token[:-1],
        }
        answers = {name: await stage.start(token) for name, token in tokens.items()}
        assert codes(answers) == {name: "E011" if name == "nothing" else "E012" for name in tokens}
        for answer in answers.values():
            assert stage.admin_token not in str(answer)
        assert await stage.start(stage.admin_token) == {"status": "ok"}
        assert (await stage.start(stage.admin_token))["error_code"] == "E016"
        await stage.ends_unharmed()


async def test_a_wrong_token_and_none_are_told_apart_by_their_code_and_nothing_else_is_learnt(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        answers = []
        for player_id in ("P01", "P99"):
            for token in (None, "tok-p01-" + "0" * 64, "x", "\u00e9" * 1000):
                answer = await stage.say(
                    "manager",
                    "league_query",
                    "LEAGUE_QUERY",
                    f"player:{player_id}",
                    auth_token=token,
                    query_type="GET_STANDINGS",
                )
                answers.append((answer["error_code"], answer["message"], str(answer["context"])))
        known, unknown = set(answers[:4]), set(answers[4:])
        assert {code for code, _, _ in known} == {"E011", "E012"}
        assert len(known) == 2
        assert {(code, sentence) for code, sentence, _ in unknown} == {
            ("E005", "player:P99 is not registered; register first")
        }
        await stage.ends_unharmed()
