"""Complete leagues over real HTTP in which agents by others meet ours."""

import asyncio
import json
import time
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from agent_league.agent.outbox import LATE_SECONDS
from agent_league.launch.agent_plan import AgentListeners
from agent_league.model.events import AgentRegistered
from agent_league.model.results import Outcome
from agent_league.players.events import MatchOver, PlayerEvent
from agent_league.players.observation import GameRecord
from tests.conftest import BOUND, PlanMaker
from tests.foreign import players, referees
from tests.foreign.managers import MANAGERS
from tests.foreign.players import PLAYERS, ForeignPlayer
from tests.foreign.referees import REFEREES
from tests.foreign.sample_manager import SampleManager
from tests.foreign.sample_player import SamplePlayer
from tests.foreign.sample_referee import SampleReferee
from tests.foreign.stage import Played, planned, play_with_players, play_with_referee, serving, started
from tests.foreign.v1_league import V1League
from tests.foreign.v1_player import V1FramedPlayer, V1MovePlayer, V1Player
from tests.foreign.web import Message
from tests.launch.scripted_guests import hosted

TOLERATED: dict[type[ForeignPlayer], set[str]] = {
    SamplePlayer: set(),
    players.BarePlayer: {"called as a bare message"},
    players.TypePlayer: {"called as 'GAME_INVITATION'", "called as 'CHOOSE_PARITY_CALL'"},
    players.ReceivePlayer: {"called as 'receive_game_invitation'", "called as 'receive_parity_call'"},
    players.SmallPlayer: {"called as 'game_invitation'", "called as 'choose_parity_call'"},
    players.ParityChoosePlayer: {"called as 'game_invitation'", "called as 'parity_choose'"},
    players.HandlerPlayer: {"called as 'handle_message'"},
    players.ToolPlayer: {"called as 'tools/call'", "answer in result.content[0].text"},
    players.StructuredToolPlayer: {"called as 'tools/call'"},
    players.ChoicePlayer: {"'choice' for 'parity_choice'"},
    players.AcceptedPlayer: {"'accepted' for 'accept'"},
    players.JoinedPlayer: {"'status' 'joined' for 'accept'"},
    players.AckPlayer: {"'status' 'ACK' for 'accept'"},
    players.StatusAcceptedPlayer: {"'status' 'ACCEPTED' for 'accept'"},
    players.ReadyPlayer: {"'status' 'READY' for 'accept'"},
    players.MessagePlayer: {"answer in result.message"},
    players.ResponsePlayer: {"answer in result.response"},
    players.RequestShapedPlayer: {"answer in params"},
    players.BareReplyPlayer: {"answer in the bare body"},
    players.PushedPlayer: {"answer in a call of its own"},
    players.BarePushedPlayer: {"answer in a call of its own"},
    players.PostedPlayer: set(),
    players.CamelPlayer: set(),
    players.ScantPlayer: set(),
    players.OwnNamePlayer: {"'sender' 'player:own-name' for 'player:*'", "'player_id' 'own-name' for '*'"},
    players.TokenlessPlayer: {"no 'auth_token'"},
    players.NotFoundPlayer: {"called as 'game_invitation'", "called as 'choose_parity_call'"},
    players.UnprocessablePlayer: {"called as 'receive_game_invitation'", "called as 'receive_parity_call'"},
    players.BrokenPlayer: {"called as 'GAME_INVITATION'", "called as 'CHOOSE_PARITY_CALL'"},
    players.NoMethodPlayer: {"called as 'game_invitation'", "called as 'parity_choose'"},
    players.FinePlayer: {"called as 'game_invitation'", "called as 'choose_parity_call'"},
    players.BrokenParityPlayer: {"called as 'game_invitation'", "called as 'parity_choose'"},
    players.FineParityPlayer: {"called as 'game_invitation'", "called as 'parity_choose'"},
    players.ListingToolPlayer: {
        "called as 'tools/call' of 'receive_game_invitation'",
        "called as 'tools/call' of 'receive_parity_call'",
        "answer in result.content[0].text",
    },
    players.FailingToolPlayer: {
        "called as 'tools/call' of 'game_invitation'",
        "called as 'tools/call' of 'parity_choose'",
        "answer in result.content[0].text",
    },
    players.OneToolPlayer: {"called as 'tools/call' of 'handle_message'", "answer in result.content[0].text"},
    players.ArgumentToolPlayer: {
        "called as 'tools/call' of 'receive_game_invitation' with arguments.message",
        "called as 'tools/call' of 'receive_parity_call' with arguments.message",
    },
    players.WrappedPlayer: {
        "called as 'receive_game_invitation' with params.message",
        "called as 'receive_parity_call' with params.message",
    },
    players.BrokenWrappedPlayer: {
        "called as 'handle_game_invitation' with params.message",
        "called as 'choose_parity' with params.message",
    },
    players.EmptyTokenPlayer: set(),
    players.FlatPlayer: set(),
    players.NullResultPlayer: {"called as 'game_invitation'", "called as 'choose_parity_call'"},
    players.MoveObjectPlayer: {"'move_data' with 'choice' for the move itself"},
    players.OtherIdPlayer: {"'sender' 'player:P01' for 'player:*'", "'player_id' 'P01' for '*'"},
    V1Player: set(),
    V1FramedPlayer: {"answer in result"},
    V1MovePlayer: {"'message_type' 'MOVE_RESPONSE' for 'PLAY_RESPONSE'"},
}
"""What is tolerated in the matches of each, to the word."""

REGISTERED_TYPE = "method 'LEAGUE_REGISTER_REQUEST' for 'register_player'"
REGISTERED_SHORT = "method 'league_register' for 'register_player'"
CAMEL = {"'displayName' for 'display_name'", "'gameTypes' for 'game_types'"}
UNSAID = {"no 'sender'", "no 'timestamp'", "no 'conversation_id'"}
TOLERATED_AT_REGISTRATION: dict[type[ForeignPlayer], set[str]] = {
    players.BarePlayer: {"message in the bare body"},
    players.TypePlayer: {REGISTERED_TYPE},
    players.ParityChoosePlayer: {REGISTERED_SHORT},
    players.HandlerPlayer: {"message in params.message"},
    players.ToolPlayer: {"message in params.arguments"},
    players.StructuredToolPlayer: {"message in params.arguments"},
    players.PostedPlayer: {"POST /register"},
    players.CamelPlayer: {*CAMEL, "'contactEndpoint' for 'contact_endpoint'"},
    players.ScantPlayer: {*CAMEL, *UNSAID, "'endpoint' for 'contact_endpoint'"},
    players.BrokenPlayer: {REGISTERED_TYPE},
    players.NoMethodPlayer: {REGISTERED_SHORT},
    players.BrokenParityPlayer: {REGISTERED_SHORT},
    players.FineParityPlayer: {REGISTERED_SHORT},
    players.EmptyTokenPlayer: {
        "an empty 'auth_token'",
        "no 'version'",
        "'protocol_version' 'league.v2' for '2.0.0'",
    },
    players.FlatPlayer: {
        *("POST /register", "a flat body", "no 'game_types'", "'endpoint' for 'contact_endpoint'"),
        *("no 'protocol'", "no 'message_type'", *UNSAID),
    },
}

OURS: set[str | None] = {"handle_game_invitation", "choose_parity"}
SMALL: set[str | None] = {"game_invitation", "choose_parity_call"}
PLAIN = OURS | SMALL | {"receive_game_invitation", "GAME_INVITATION", "handle_message", "tools/call", None}
"""Of those whose names are in another frame: what comes before the combined forms, the bare message (None) included."""
TRIED: dict[type[ForeignPlayer], set[str | None]] = {
    players.ListingToolPlayer: PLAIN,
    players.FailingToolPlayer: PLAIN,
    players.OneToolPlayer: PLAIN,
    players.ArgumentToolPlayer: PLAIN,
    players.WrappedPlayer: PLAIN,
    players.BrokenWrappedPlayer: PLAIN,
    players.NullResultPlayer: OURS,
    players.ReceivePlayer: OURS | SMALL,
    players.SmallPlayer: OURS,
    players.ParityChoosePlayer: OURS | SMALL,
    players.NotFoundPlayer: OURS,
    players.UnprocessablePlayer: OURS | SMALL,
    players.NoMethodPlayer: OURS | SMALL,
    players.BrokenParityPlayer: OURS | SMALL,
    players.FineParityPlayer: OURS | SMALL,
    players.FinePlayer: OURS,
}
"""The spellings that those may hear, once, whose registration says nothing of how they want to be called."""


def titles(kind: type) -> str:
    return kind.__name__


@pytest.mark.parametrize("kind", PLAYERS.values(), ids=titles)
async def test_a_foreign_player_plays_a_whole_league_with_ours(plan: PlanMaker, kind: type[ForeignPlayer]) -> None:
    played, [guest] = await play_with_players(planned(plan, referees=1), kind)
    played.assert_played(players=4)
    assert not guest.faults
    assert len(guest.history) == 3, "each result is told once"
    assert_called_in_its_own_way(guest)
    assert_told_what_is_recorded(guest, played)
    assert tolerated(played) == ({guest.name: TOLERATED[kind]} if TOLERATED[kind] else {})
    everything = TOLERATED[kind] | TOLERATED_AT_REGISTRATION.get(kind, set())
    assert told_at_the_end(played) == ({guest.name: everything} if everything else {})


class LateToHear:
    """A player that takes longer to hear of a round than the manager waits for it."""

    def reply(self, method: str, message: Message) -> Message | None:
        if method == "notify_round":
            time.sleep(LATE_SECONDS * 1.5)
        return super().reply(method, message)  # type: ignore[misc, no-any-return]


@pytest.mark.parametrize("kind", [players.PushedPlayer, players.BarePushedPlayer], ids=titles)
async def test_who_hears_of_a_round_after_its_invitation_plays_all_the_same(
    plan: PlanMaker, kind: type[ForeignPlayer]
) -> None:
    late = type("LatePlayer", (LateToHear, kind), {})
    played, [guest] = await play_with_players(planned(plan, referees=1), late)
    played.assert_played(players=4)
    assert not guest.faults


@pytest.mark.slow
async def test_all_foreign_players_at_once_play_a_league_with_ours(plan: PlanMaker) -> None:
    kinds = list(PLAYERS.values())
    everybody = 2 + len(kinds)
    played, guests = await play_with_players(planned(plan, players=everybody, referees=2), *kinds)
    played.assert_played(players=everybody)
    for guest in guests:
        assert not guest.faults
        assert len(guest.history) == everybody - 1
        assert_told_what_is_recorded(guest, played)
    assert tolerated(played) == {kind.name: notes for kind, notes in TOLERATED.items() if notes}
    assert told_at_the_end(played) == {
        kind.name: notes for kind in kinds if (notes := TOLERATED[kind] | TOLERATED_AT_REGISTRATION.get(kind, set()))
    }


async def test_a_foreign_v1_player_plays_a_v1_league_of_ours(plan: PlanMaker) -> None:
    played, [guest] = await play_with_players(planned(plan, protocol="v1"), V1Player)
    played.assert_played(players=4, meetings=2)
    assert isinstance(guest, V1Player)
    assert not guest.faults
    assert len(guest.history) == 6
    assert_told_what_is_recorded(guest, played)
    assert sorted(guest.roles.values()) == ["challenger"] * 3 + ["defender"] * 3
    assert len(guest.validations) == 12, "every choice is validated to both"
    assert guest.final
    assert (guest.final["total_rounds"], guest.final["total_matches"]) == (6, 12)
    wins = {row.display_name: row.wins for row in played.completed.standings}
    champion = guest.final["champion"]
    assert wins[champion["display_name"]] == champion["wins"] == max(wins.values())
    assert sorted(row["wins"] for row in guest.final["rankings"]) == sorted(wins.values())
    assert not tolerated(played)


async def test_our_v1_players_play_in_a_foreign_v1_league(plan: PlanMaker) -> None:
    made = planned(plan, protocol="v1")
    remembered: list[tuple[str, GameRecord]] = []
    async with AsyncExitStack() as stack:
        league = await stack.enter_async_context(started(V1League(made.manager.port, players=4)))
        guest = await stack.enter_async_context(started(V1Player(made.players[3].port, league.endpoint)))
        await stack.enter_async_context(serving(made.players[:3], watching(remembered)))
        await asyncio.to_thread(guest.register)
        assert await asyncio.to_thread(league.over.wait, BOUND)
    assert not league.faults
    assert not guest.faults
    assert len(league.results) == 12
    assert len(remembered) == 18, "each of our three has six games"
    outcomes = Counter((player_id, game.outcome) for player_id, game in remembered)
    ours = [row for row in league.ranking() if row["player_id"] != guest.player_id]
    told = sorted(
        (outcomes[player_id, "WIN"], outcomes[player_id, "LOSS"]) for player_id in {name for name, _ in outcomes}
    )
    assert told == sorted((row["wins"], row["losses"]) for row in ours)


STRICT_CODES: dict[type[ForeignPlayer], str] = {
    players.ReceivePlayer: "E002",
    players.SmallPlayer: "E002",
    players.ChoicePlayer: "E003",
    players.AcceptedPlayer: "E003",
    players.JoinedPlayer: "E003",
    players.AckPlayer: "E003",
    players.StatusAcceptedPlayer: "E003",
    players.ReadyPlayer: "E003",
    players.MessagePlayer: "E003",
    players.ResponsePlayer: "E003",
    players.RequestShapedPlayer: "E002",
    players.BareReplyPlayer: "E002",
    players.PushedPlayer: "E003",
    players.BarePushedPlayer: "E003",
    players.OwnNamePlayer: "E002",
    players.TokenlessPlayer: "E011",
    players.NotFoundPlayer: "E002",
    players.UnprocessablePlayer: "E002",
    players.FinePlayer: "E003",
    players.ListingToolPlayer: "E002",
    players.FailingToolPlayer: "E002",
    players.OneToolPlayer: "E002",
    players.ArgumentToolPlayer: "E002",
    players.WrappedPlayer: "E002",
    players.BrokenWrappedPlayer: "E002",
    players.NullResultPlayer: "E002",
    players.MoveObjectPlayer: "E010",
    players.OtherIdPlayer: "E002",
    V1FramedPlayer: "E002",
    V1MovePlayer: "E002",
}
"""The code under which each loses where nothing is tolerated."""
BY_THE_LETTER: tuple[type[ForeignPlayer], ...] = (SamplePlayer, V1Player)
NOT_ADMITTED = [kind for kind in PLAYERS.values() if kind not in STRICT_CODES and kind not in BY_THE_LETTER]
STRICT = {"tolerance.strict": True, "retry_policy.base_delay_sec": 0.01}


@pytest.mark.parametrize("kind", BY_THE_LETTER, ids=titles)
async def test_a_player_by_the_letter_of_its_seed_plays_a_strict_league(
    plan: PlanMaker, kind: type[ForeignPlayer]
) -> None:
    played, [guest] = await play_with_players(planned(plan, overrides=STRICT), kind)
    played.assert_played(players=4)
    assert_told_what_is_recorded(guest, played)
    assert not tolerated(played)


@pytest.mark.parametrize(("kind", "code"), STRICT_CODES.items(), ids=lambda value: getattr(value, "__name__", None))
async def test_in_a_strict_league_a_deviation_is_lost_technically_with_its_code(
    plan: PlanMaker, kind: type[ForeignPlayer], code: str
) -> None:
    played, [guest] = await play_with_players(planned(plan, overrides=STRICT), kind)
    player_id = played.id_of(guest)
    for result in played.results.values():
        if player_id in result.players:
            assert (result.outcome, result.winner == player_id) == (Outcome.TECHNICAL_LOSS, False)
        else:
            assert result.outcome in {Outcome.WIN, Outcome.DRAW}
    assert played.codes(player_id) == {code}
    assert not tolerated(played)


@pytest.mark.parametrize("kind", NOT_ADMITTED, ids=titles)
async def test_a_strict_league_does_not_admit_who_registers_in_another_form(
    plan: PlanMaker, kind: type[ForeignPlayer]
) -> None:
    made = planned(plan, overrides=STRICT)
    guest = kind(made.players[-1].port, f"http://localhost:{made.manager.port}/mcp")
    async with started(guest), hosted(made, guests=1):
        answer = await asyncio.to_thread(guest.register)
    assert "player_id" not in answer
    assert answer.get("status") != "ACCEPTED"


REPORTED_BY_TYPE = "method 'MATCH_RESULT_REPORT' for 'report_match_result'"
TOLERATED_OF_REFEREES: dict[type[SampleReferee], set[str]] = {
    referees.RunningReferee: {"result in the reply to the start"},
    referees.ForwardingRunningReferee: {"result in the reply to the start"},
    referees.AnnouncedReferee: {"matches started by ROUND_ANNOUNCEMENT"},
    referees.BlockingAnnouncedReferee: {"matches started by ROUND_ANNOUNCEMENT"},
    referees.ForwardingAnnouncedReferee: {"matches started by ROUND_ANNOUNCEMENT"},
    referees.HesitantAnnouncedReferee: {"matches started by ROUND_ANNOUNCEMENT"},
    referees.ReportingReferee: {"method 'match_result_report' for 'report_match_result'"},
    referees.TypeReferee: {"method 'REFEREE_REGISTER_REQUEST' for 'register_referee'", REPORTED_BY_TYPE},
    referees.BareReferee: {"message in the bare body"},
    referees.OwnNameReferee: {"'sender' 'referee:own-name-referee' for 'referee:*'"},
    referees.PathReferee: {"called as POST /run_match", "result in the reply to the start"},
    referees.AssignmentReferee: {"called as 'assign_match', a MATCH_ASSIGNMENT"},
    referees.AssignmentTypeReferee: {"called as 'MATCH_ASSIGNMENT', a MATCH_ASSIGNMENT"},
    referees.BareAssignmentReferee: {"called as a bare message, a MATCH_ASSIGNMENT"},
    referees.AnnouncedIdReferee: {"matches started by ROUND_ANNOUNCEMENT"},
    referees.PollingReferee: {"matches fetched by 'get_assigned_matches'"},
    referees.UndecidedReferee: {"a report without a result, booked by its details"},
    referees.MistakenReferee: {"a report whose result contradicts its details, booked by these"},
    referees.UndecidedRunningReferee: {
        "result in the reply to the start",
        "a report without a result, booked by its details",
    },
}


class Declaring:
    """A referee that declares the version of the protocol, as its document tells it to."""

    def call(self, endpoint: str, method: str, message: Message) -> Message:
        if "referee_meta" in message:
            message = {**message, "referee_meta": {**message["referee_meta"], "protocol_version": "2.1.0"}}
        return super().call(endpoint, method, message)  # type: ignore[misc, no-any-return]


@pytest.mark.parametrize(
    "kind", [SampleReferee, referees.AnnouncedReferee, referees.RunningReferee, referees.ForwardingReferee], ids=titles
)
async def test_a_foreign_referee_that_declares_our_version_is_a_guest_all_the_same(
    plan: PlanMaker, kind: type[SampleReferee]
) -> None:
    declaring = type("DeclaringReferee", (Declaring, kind), {})
    played, referee = await play_with_referee(planned(plan, referees=1), declaring)
    played.assert_played(players=4)
    assert referee.told
    assert not referee.faults


@pytest.mark.parametrize("kind", [referees.AnnouncedReferee, referees.RunningReferee], ids=titles)
async def test_in_a_strict_league_a_foreign_referee_in_another_form_gets_no_match(
    plan: PlanMaker, kind: type[SampleReferee]
) -> None:
    played, referee = await play_with_referee(planned(plan, referees=2, overrides=STRICT), kind)
    assert len(played.results) == played.completed.matches
    assert {result.outcome for result in played.results.values()} <= {Outcome.WIN, Outcome.DRAW}
    assert not referee.told or kind is referees.AnnouncedReferee
    assert told_at_the_end(played) == {}


@pytest.mark.parametrize("kind", REFEREES.values(), ids=titles)
async def test_a_foreign_referee_serves_a_whole_league_of_ours(plan: PlanMaker, kind: type[SampleReferee]) -> None:
    played, referee = await play_with_referee(planned(plan, referees=1), kind)
    played.assert_played(players=4)
    assert not referee.faults
    told = {game["match_id"]: game["result"] for game in referee.told}
    assert told.keys() == played.results.keys()
    assert len(referee.told) == len(told), "each match is played once"
    assert told_at_the_end(played).get(kind.name, set()) >= TOLERATED_OF_REFEREES.get(kind, set())
    assert told_at_the_end(played).keys() <= {kind.name}, "of ours there is nothing to tell"
    for match_id, result in played.results.items():
        assert (result.outcome, result.winner) == (told[match_id]["status"], told[match_id]["winner_player_id"])
        assert result.details["choices"] == told[match_id]["choices"]


async def test_a_referee_that_polls_a_while_after_it_has_registered_is_not_suspended(plan: PlanMaker) -> None:
    class LatePollingReferee(referees.PollingReferee):
        def poll(self) -> None:
            self.polled.set()
            self.stopped.wait(1)
            super().poll()

    played, referee = await play_with_referee(planned(plan, referees=1), LatePollingReferee)
    played.assert_played(players=4)
    assert len(referee.told) == 6


@pytest.mark.parametrize("kind", [SampleReferee, referees.RunningReferee, referees.AnnouncedReferee], ids=titles)
async def test_a_foreign_referee_and_ours_share_the_matches_of_a_league(
    plan: PlanMaker, kind: type[SampleReferee]
) -> None:
    played, referee = await play_with_referee(planned(plan, players=6, referees=2), kind)
    played.assert_played(players=6)
    assert not referee.faults
    theirs = {game["match_id"] for game in referee.told}
    assert theirs
    assert played.files.keys() - theirs
    assert theirs | played.files.keys() == played.results.keys()


@pytest.mark.parametrize("kind", MANAGERS.values(), ids=titles)
async def test_our_players_and_referee_play_in_a_foreign_managers_league(
    plan: PlanMaker, kind: type[SampleManager]
) -> None:
    made = planned(plan, referees=1)
    remembered: list[tuple[str, GameRecord]] = []
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(started(kind(made.manager.port, 4, 1)))
        await stack.enter_async_context(serving([*made.referees, *made.players], watching(remembered)))
        assert await asyncio.to_thread(manager.over.wait, BOUND)
    assert not manager.faults
    refused = [answer for answer in manager.answers if "error" in answer or "LEAGUE_ERROR" in json.dumps(answer)]
    assert not refused
    assert len(manager.reports) == 6
    assert {row["played"] for row in manager.table()} == {3}
    assert len(remembered) == 12, "each result is told to both"
    outcomes = Counter((player_id, game.outcome) for player_id, game in remembered)
    for player_id, row in manager.standings.items():
        told = tuple(outcomes[player_id, outcome] for outcome in ("WIN", "DRAW", "LOSS"))
        assert told == (row["wins"], row["draws"], row["losses"])
    for player_id, game in remembered:
        assert manager.reports[game.match_id]["details"]["choices"][player_id] == game.my_moves[0]


def watching(remembered: list[tuple[str, GameRecord]]) -> AgentListeners:
    """Keeps what our players remember of their games."""

    def remember(player_id: str, happening: PlayerEvent) -> None:
        if isinstance(happening, MatchOver):
            remembered.append((player_id, happening.game))

    return AgentListeners(on_player_event=remember)


def tolerated(played: Played) -> dict[str, set[str]]:
    """What was tolerated in the matches of each player, by name; nobody who needed no patience."""
    notes = {row.display_name: played.tolerated(row.player_id) for row in played.completed.standings}
    return {name: said for name, said in notes.items() if said}


def assert_called_in_its_own_way(guest: ForeignPlayer) -> None:
    """It was asked in another way at most once, and never where its registration had shown how it wants to be asked."""
    if isinstance(guest, SamplePlayer):
        asked = Counter(way(body) for body in guest.misunderstood if is_question(body))
        assert {method for method, _, _ in asked} <= TRIED.get(type(guest), set())
        assert set(asked.values()) <= {1}
        told = Counter(way(body) for body in guest.misunderstood if "ROUND_ANNOUNCEMENT" in json.dumps(body))
        assert sum(count > 1 for count in told.values()) <= 1, "what nobody wants to hear isn't said in all ways again"


def way(body: Message) -> tuple[str | None, object, frozenset[str]]:
    """The method, the tool, and what is around the message: MCP's own words, for one."""
    params = body.get("params", {})
    return body.get("method"), params.get("name"), frozenset(params) & {"message", "arguments", "_meta"}


def is_question(body: Message) -> bool:
    text = json.dumps(body)
    return "GAME_INVITATION" in text or "CHOOSE_PARITY_CALL" in text


def told_at_the_end(played: Played) -> dict[str, set[str]]:
    """What the end of the league says was tolerated, registrations included, by name."""
    names = {event.agent_id: event.display_name for event in played.events if isinstance(event, AgentRegistered)}
    notes = played.completed.tolerated.items()
    return {names[agent_id]: {note.replace(agent_id, "*") for note in said} for agent_id, said in notes}


def assert_told_what_is_recorded(guest: ForeignPlayer, played: Played) -> None:
    recorded = {match_id: match["result"] for match_id, match in played.files.items()}
    for game in guest.history:
        told, match = game["result"], recorded[game["match_id"]]
        if isinstance(guest, SamplePlayer):
            names = ("status", "winner_player_id", "drawn_number", "number_parity", "choices")
            assert {name: told[name] for name in names} == {name: match[name] for name in names}
        else:
            assert_told_in_v1(guest, told, played.id_of(guest), match)


def assert_told_in_v1(guest: V1Player, told: Message, player_id: str, match: Message) -> None:
    assert told["outcome"] == match["status"]
    assert (told["winner"] == guest.player_id) is (match["winner_player_id"] == player_id)
    assert told["game_summary"]["random_number"] == match["drawn_number"]
    assert told["game_summary"]["number_parity"] == match["number_parity"]
    assert told["game_summary"][f"{guest.player_id}_choice"] == match["choices"][player_id]
