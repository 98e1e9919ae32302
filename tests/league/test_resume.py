"""A manager made anew over the same store goes on where the one before it stopped, wherever that was."""

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.clock import SystemClock
from agent_league.config import ConfigLoader
from agent_league.errors import LeagueFailed
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.league.app import LeagueManager
from agent_league.league.journal import run_inline
from agent_league.league.resume import get_effective_config, load_or_create_season
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeaguePhase
from agent_league.model.agents import AgentState
from agent_league.model.events import AgentStateChanged, LeagueCompleted, LeagueResumed, RoundCompleted
from agent_league.model.looks import PlayerLook
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.strategies import load_strategy
from agent_league.referee.app import Referee
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.base import SavedSeason, StoredRow, StoreFailed
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.testing.peers import ScriptedPlayer
from agent_league.testing.virtual_time import VirtualClock, run_in_virtual_time
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, MANAGER, Office, at_work, open_office, within
from tests.league.scripted_referee import ScriptedReferee
from tests.league.strongroom import a_while

QUICK = {
    "timeouts.generic_response_timeout_sec": 0.2,
    "circuit_breaker.probe_after_sec": 0.05,
    "heartbeat.interval_sec": 0.05,
    "heartbeat.lease_sec": 0.2,
}
DRAW: dict[str, Any] = {"winner": None, "score": {}}
P01_WINS = {"winner": "P01", "score": {"P01": 3, "P02": 0}}


class Mortal(MemoryStore):
    """Takes so many writes; then its manager is dead, and nothing it wants to keep is kept."""

    def __init__(self, memory: MemoryDatabase, writes: int) -> None:
        super().__init__(memory)
        self.left = writes
        self.died = asyncio.Event()

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        if not self.left:
            self.died.set()
            raise StoreFailed("the manager is dead")
        self.left -= 1
        super().write_rows(season_id, rows)


class Watched(MemoryNetwork):
    """Looks at all that the manager acknowledges or tells: is it in the store at that moment?"""

    def __init__(self, memory: MemoryDatabase) -> None:
        super().__init__()
        self._store = MemoryStore(memory)
        self._ways = Random(7)
        self.complaints: list[str] = []
        self.acknowledged: set[str] = set()
        self.told_end: set[str] = set()

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        request = json.loads(frame)
        await asyncio.sleep(self._ways.uniform(0.001, 0.03))  # or all would happen at the same moment
        if endpoint != MANAGER:
            self._look_at_notice(request, endpoint)
        status, body = await super().exchange(endpoint, frame, limit, bearer)
        if endpoint == MANAGER:
            self._look_at_answer(request, json.loads(body).get("result"))
        elif request["method"] == "notify_league_completed":
            self.told_end.add(endpoint)
        return status, body

    def _look_at_notice(self, request: dict[str, Any], endpoint: str) -> None:
        saved, method = self._saved(), request["method"]
        if method == "start_match":
            match = next(match for match in saved.matches if match.match_id == request["params"]["match_id"])
            if match.referee_id not in {agent.agent_id for agent in saved.agents if agent.endpoint == endpoint}:
                self.complaints.append(f"{match.match_id} was given away and that is not committed")
        if method in ("update_standings", "notify_round_completed"):
            if saved.season.rounds_completed < request["params"]["round_id"]:
                self.complaints.append(f"{method} of an uncommitted round")
        elif method == "notify_league_completed" and saved.season.phase != "COMPLETED":
            self.complaints.append("LEAGUE_COMPLETED of an uncommitted end")
        elif method == "notify_round" and saved.season.phase == "REGISTRATION":
            self.complaints.append(f"{method} before the start is committed")

    def _look_at_answer(self, request: dict[str, Any], result: Any) -> None:
        if request["method"] == "report_match_result" and result == {"status": "ok"}:
            match_id = request["params"]["match_id"]
            self.acknowledged.add(match_id)
            if not any(match.match_id == match_id and match.result for match in self._saved().matches):
                self.complaints.append(f"{match_id} was acknowledged and is not committed")
        elif request["method"].startswith("register_") and result.get("status") == "ACCEPTED":
            token_sha256 = hashlib.sha256(result["auth_token"].encode()).hexdigest()
            if token_sha256 not in {agent.token_sha256 for agent in self._saved().agents}:
                self.complaints.append("a token was given out and is not committed")

    def _saved(self) -> SavedSeason:
        saved = self._store.read_season(LEAGUE_ID)
        assert saved is not None
        return saved


class Stage:
    """Our own referees and players of a plan, who outlive their managers."""

    def __init__(self, plan: LeaguePlan, sync_seconds: float) -> None:
        self._sync_seconds = sync_seconds
        assert isinstance(plan.manager.settings, ManagerSettings)
        self._settings = plan.manager.settings
        self._disk = Random(7)
        self.memory = MemoryDatabase()
        self.network = Watched(self.memory)
        self.agents: list[Referee | Player] = []
        self._runs: list[asyncio.Task[Any]] = []
        number = count()
        for seat in plan.referees:
            referee = Referee(seat.settings, self.network, VirtualClock(), rng=Random(next(number)))
            self._seat(referee, seat.settings)
        for place in plan.players:
            strategy = load_strategy(str(place.strategy))
            player = Player(place.settings, strategy, self.network, VirtualClock(), rng=Random(next(number)))
            self._seat(player, place.settings)

    def _seat(self, agent: Referee | Player, settings: RefereeSettings | PlayerSettings) -> None:
        self.agents.append(agent)
        self.network.attach(settings.endpoint, agent.dispatcher.answer_request)
        self._runs.append(asyncio.create_task(agent.run()))

    async def _slowly(self, function: Callable[..., Any], *args: Any) -> Any:
        """A disk takes its time, or nobody could be too early."""
        await asyncio.sleep(self._disk.uniform(0, self._sync_seconds))
        return function(*args)

    async def manage(self, writes: int | None = None) -> tuple[LeagueManager, int]:
        """A manager that lives until the league is over, or for so many writes; also how many it made."""
        store = Mortal(self.memory, 10_000 if writes is None else writes)
        manager = LeagueManager(
            self._settings, self.network, VirtualClock(), store=store, offload=self._slowly, rng=Random(7)
        )
        self.network.attach(MANAGER, manager.dispatcher.answer_request)
        run = asyncio.create_task(manager.run())
        ends = [asyncio.create_task(event.wait()) for event in (store.died, manager.completed)]
        async with asyncio.timeout(3600):
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if store.died.is_set():
            self.network.detach(MANAGER)
            run.cancel()
        self._runs += [run, *ends]
        return manager, store.left

    async def close(self) -> None:
        for run in self._runs:
            run.cancel()
        for ending in await asyncio.gather(*self._runs, return_exceptions=True):
            assert not isinstance(ending, LeagueFailed), ending


def small_plan(folder: Path, overrides: Mapping[str, Any] | None = None) -> LeaguePlan:
    request = LeagueRequest(home=folder, players=4, referees=2, seed="7", strategies=("always_even", "always_odd"))
    return make_league_plan(ConfigLoader(folder, {"logging.level": "ERROR", **(overrides or {})}), request)


def table(manager: LeagueManager) -> list[tuple[str, int, int]]:
    return [(row.player_id, row.points, row.played) for row in manager.state.standings()]


def check(stage: Stage, manager: LeagueManager, expected: list[tuple[str, int, int]], what: str) -> None:
    """Everything that must hold at the end, whoever died on the way."""
    assert stage.network.complaints == [], what
    assert manager.state.phase is LeaguePhase.COMPLETED, what
    assert table(manager) == expected, what
    assert stage.network.acknowledged == set(manager.state.results), what
    saved = MemoryStore(stage.memory).read_season(LEAGUE_ID)
    assert saved is not None
    assert saved.season.announced, what
    assert len({agent.display_name for agent in saved.agents}) == len(saved.agents) == 6, what
    assert {agent.agent_id for agent in stage.agents} == {agent.agent_id for agent in saved.agents}, what
    assert all(agent.state is AgentState.SHUTDOWN for agent in stage.agents), what


@pytest.mark.parametrize(
    ("sync_seconds", "overlap"),
    [pytest.param(0.001, False, marks=pytest.mark.slow), (0.1, False), (0.1, True)],
)
def test_a_manager_killed_at_any_write_of_its_life_is_followed_by_one_that_ends_the_league(
    home: Path, sync_seconds: float, overlap: bool
) -> None:
    plan = small_plan(home, {"scheduling.overlap_rounds": overlap})

    async def play(*lives: int) -> tuple[list[tuple[str, int, int]], int]:
        shutil.rmtree(home / "data", ignore_errors=True)
        stage = Stage(plan, sync_seconds)
        for writes in lives:
            await stage.manage(writes)
        committed = MemoryStore(stage.memory).read_season(LEAGUE_ID)
        manager, left = await stage.manage()
        if expected:
            check(stage, manager, expected, f"killed after the writes {lives}")
            assert committed is not None
            kept = {match.match_id: match.result for match in committed.matches if match.result}
            saved = MemoryStore(stage.memory).read_season(LEAGUE_ID)
            assert saved is not None
            assert {match.match_id: match.result for match in saved.matches if match.match_id in kept} == kept
        await stage.close()
        return table(manager), 10_000 - left

    expected: list[tuple[str, int, int]] = []
    expected, total = run_in_virtual_time(play())
    assert total > 10
    for number in range(total):
        run_in_virtual_time(play(number))
    for lives in ((5,) * 6, (3, 9, 4, 7), (0, 0, 1, 0, 2)):
        run_in_virtual_time(play(*lives))


class Succession:
    """One manager after another, over one store and on one network; the scripted agents stay."""

    def __init__(self, home: Path, overrides: dict[str, Any] | None = None) -> None:
        self.memory, self.network = MemoryDatabase(), MemoryNetwork()
        self._home, self._overrides = home, overrides

    def next(self, overrides: dict[str, Any] | None = None, **counts: int) -> Office:
        return open_office(
            self._home,
            {**(self._overrides or {}), **(overrides or {})},
            network=self.network,
            store=MemoryStore(self.memory),
            offload=run_inline,
            **counts,
        )

    @property
    def saved(self) -> SavedSeason:
        found = MemoryStore(self.memory).read_season(LEAGUE_ID)
        assert found is not None
        return found


@pytest.fixture
def succession(home: Path) -> Succession:
    return Succession(home, QUICK)


async def test_agents_keep_their_ids_and_tokens_and_need_not_register_again(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        players = await first.seat_players(3)
        referee = await first.seat_referee()
        before = first.manager.state.roster
    async with at_work(succession.next()) as second:
        for player in players:
            assert (await second.query(player, "GET_STANDINGS"))["success"] is True
        newcomer = await second.register("Newcomer", "http://localhost:8177/mcp")
        assert newcomer["player_id"] == "P04"
        assert [(one.agent, one.token_sha256, one.token_expires) for one in before] == [
            (one.agent, one.token_sha256, one.token_expires)
            for one in second.manager.state.roster
            if one.agent_id != "P04"
        ]
        assert await second.start() == {"status": "ok"}
        await second.completed()
        assert len(referee.orders) == 6


async def test_a_look_stays_over_a_restart_and_who_comes_back_may_change_it(home: Path) -> None:
    fox = {"color": "#C0392B", "avatar": "🦊"}
    async with at_work(open_office(home)) as first:
        assert (await first.register("Fox", **fox))["player_id"] == "P01"
    async with at_work(open_office(home)) as second:
        roster = second.manager.state.roster
        assert roster["P01"].agent.look == PlayerLook("#c0392b", "🦊")
        assert (await second.register("Fox", color="#16a085"))["player_id"] == "P01"
        assert roster["P01"].agent.look == PlayerLook("#16a085", "")
    async with at_work(open_office(home)) as third:
        assert third.manager.state.roster["P01"].agent.look == PlayerLook("#16a085", "")


async def test_a_league_that_was_complete_when_its_manager_died_starts_by_itself(succession: Succession) -> None:
    """All are registered, and the manager dies before it could start."""
    async with at_work(succession.next()) as first:
        await first.seat_players(2)
        referee = await first.seat_referee()
    async with at_work(succession.next(players=2, referees=1)) as second:
        await second.completed()
    assert len(referee.orders) == 1


async def half_played(first: Office) -> tuple[list[ScriptedPlayer], ScriptedReferee]:
    """R1M1 is finished, R1M2 is in the referee's hand."""
    players = await first.seat_players(4)
    referee = await first.seat_referee(auto_report=False)
    await first.start()
    await within(referee.wait_for_calls("start_match", 2))
    assert await referee.report("R1M1", P01_WINS) == {"status": "ok"}
    return players, referee


async def test_finished_matches_stay_and_unfinished_ones_are_played_again(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        _, referee = await half_played(first)
    async with at_work(succession.next()) as second:
        orders = await within(referee.wait_for_calls("start_match", 3))
        assert orders[-1]["match_id"] == "R1M2"
        assert orders[-1]["match_token"] != next(one for one in orders if one["match_id"] == "R1M2")["match_token"]
        resumed = next(event for event in second.events if isinstance(event, LeagueResumed))
        assert [result.match_id for result in resumed.results] == ["R1M1"]
        assert (resumed.players, resumed.referees, resumed.rounds, resumed.matches) == (4, 1, 3, 6)
        assert (await referee.report("R1M1", {**P01_WINS, "winner": "P02"}))["error_code"] == "E002"
        assert await referee.report("R1M1", P01_WINS) == {"status": "ok"}
        assert await referee.report("R1M2", DRAW) == {"status": "ok"}
        for count, match_id in enumerate(("R2M1", "R2M2", "R3M1", "R3M2"), 4):
            await within(referee.wait_for_calls("start_match", count))
            await referee.report(match_id, DRAW)
        await second.completed()
        assert sorted(second.manager.state.results) == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
        points = {row.player_id: row.points for row in second.manager.state.standings()}
        assert points == {"P01": 5, "P02": 2, "P03": 3, "P04": 3}
    assert [order["match_id"] for order in referee.orders].count("R1M1") == 1


async def test_a_league_in_a_database_is_taken_up_as_well(home: Path) -> None:
    """The store that managers have in life, with its thread."""
    network = MemoryNetwork()
    async with at_work(open_office(home, QUICK, network=network)) as first:
        players, referee = await half_played(first)
        before = first.manager.state.standings()
    async with at_work(open_office(home, QUICK, network=network)) as second:
        assert second.manager.state.standings() == before
        assert (await second.query(players[0], "GET_STANDINGS"))["success"] is True
        await within(referee.wait_for_calls("start_match", 3))
        assert await referee.report("R1M2", DRAW) == {"status": "ok"}
        await second.event(lambda event: isinstance(event, RoundCompleted))


async def test_the_result_of_a_match_given_out_by_the_manager_before_is_taken(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        _, referee = await half_played(first)
    async with at_work(succession.next()) as second:
        assert await referee.report("R1M2", DRAW) == {"status": "ok"}
        await within(referee.wait_for_calls("start_match", 4))
        assert set(second.manager.state.results) == {"R1M1", "R1M2"}


async def test_the_round_is_announced_again_with_the_referees_that_have_its_matches(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        players, referee = await half_played(first)
    async with at_work(succession.next()):
        again = await within(players[0].wait_for_calls("notify_round", 2))
    assert {match["referee_endpoint"] for match in again[-1]["matches"]} == {referee.endpoint}
    assert [match["match_id"] for match in again[-1]["matches"]] == ["R1M1", "R1M2"]


async def test_a_match_whose_referee_is_suspended_goes_to_another(succession: Succession) -> None:
    async with at_work(succession.next({"circuit_breaker.probe_after_sec": 600})) as first:
        await first.seat_players(2)
        lost = await first.seat_referee(auto_report=False)
        other = await first.seat_referee(auto_report=False)
        await first.start()
        await within(lost.wait_for_calls("start_match"))
        first.manager.state.suspend_agent("REF01", "for the test")
        await a_while()
    async with at_work(succession.next({"circuit_breaker.probe_after_sec": 600})):
        await within(other.wait_for_calls("start_match"))
    assert len(lost.orders) == 1


async def test_states_and_counts_of_failures_survive_and_the_suspended_are_probed(succession: Succession) -> None:
    async with at_work(succession.next({"circuit_breaker.probe_after_sec": 600})) as first:
        players, _ = await half_played(first)
        first.manager.state.adopt_failure_count("P01", 5)
        first.manager.state.adopt_failure_count("P02", 3)
    async with at_work(succession.next()) as second:
        states = {
            member.agent_id: (str(member.state), member.breaker.failures) for member in second.manager.state.roster
        }
        assert states == {
            "P01": ("SUSPENDED", 5),
            "P02": ("ACTIVE", 3),
            "P03": ("ACTIVE", 0),
            "P04": ("ACTIVE", 0),
            "REF01": ("ACTIVE", 0),
        }
        back = await second.event(lambda event: isinstance(event, AgentStateChanged))
        assert back == AgentStateChanged("P01", AgentState.ACTIVE, "answers again")
        await within(players[0].wait_for_calls("get_player_state"))


@pytest.mark.parametrize("announced", [False, True])
async def test_the_end_is_told_again_unless_all_were_told(succession: Succession, announced: bool) -> None:
    async with at_work(succession.next()) as first:
        players = await first.play(2)
    if not announced:  # as it was when the manager died on its way
        store = MemoryStore(succession.memory)
        season = store.open_season(LEAGUE_ID)
        assert season is not None
        store.write_rows(season.season.season_id, [replace(season.season, announced=False)])
    heard = len(players[0].received_calls)
    async with at_work(succession.next()) as second:
        await second.completed()
        assert second.manager.state.phase is LeaguePhase.COMPLETED
        assert [type(event) for event in second.events] == [LeagueResumed, LeagueCompleted]
        assert (await second.query(players[0], "GET_STANDINGS"))["league_status"] == "COMPLETED"
        assert (await second.start())["error_code"] == "E016"
    assert [name for name, _ in players[0].received_calls[heard:]] == ([] if announced else ["notify_league_completed"])
    assert succession.saved.season.announced
    assert len(first.referees[0].orders) == 1


async def test_whoever_returns_after_the_end_is_told_of_it_by_the_next_manager_too(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        (player, _) = await first.play(2)
    async with at_work(succession.next()) as second:
        await second.completed()
        assert (await player.register(succession.network, MANAGER))["player_id"] == "P01"
        await within(player.wait_for_calls("notify_league_completed", 2))


async def test_a_key_of_an_applicant_is_known_to_the_next_manager(home: Path) -> None:
    """Its answer was lost with the manager; tokenless return is off."""
    succession = Succession(home, {"security.allow_tokenless_return": False})
    key = {"application_key": "k" * 64}
    request = {"display_name": "A", "version": "1", "game_types": ["even_odd"]}
    message = {"player_meta": {**request, "contact_endpoint": "http://localhost:8150/mcp"}, **key}
    answers = []
    for _ in range(2):
        async with at_work(succession.next()) as here:
            answers.append(await here.say("register_player", "LEAGUE_REGISTER_REQUEST", "player:a", **message))
            other = {**message, "application_key": "o" * 64}
            refused = await here.say("register_player", "LEAGUE_REGISTER_REQUEST", "player:a", **other)
            assert refused["reason"] == "Duplicate display name"
    assert [answer["player_id"] for answer in answers] == ["P01", "P01"]
    assert answers[0]["auth_token"] != answers[1]["auth_token"]
    assert answers[0]["public_key"] == answers[1]["public_key"]
    assert key["application_key"] not in str(succession.memory.seasons)


async def test_the_rules_that_a_league_started_with_are_kept_whatever_they_were_when_it_was_made(
    office: OfficeMaker,
) -> None:
    store = MemoryStore()
    office({"scoring.win_points": 3}, store=store)  # made under one rule,
    here = office({"scoring.win_points": 5}, store=MemoryStore(store.database))  # started under another
    await here.seat_players(2)
    await here.seat_referee(auto_report=False)
    await here.start()
    saved = store.read_season(LEAGUE_ID)
    assert saved is not None
    assert saved.season.settings["scoring"]["win_points"] == 5


def test_a_league_is_taken_up_with_the_key_it_began_with_and_a_new_one_gets_its_own(home: Path) -> None:
    league = ConfigLoader(home, {}).load_league()
    store = MemoryStore()
    first = load_or_create_season(store, league, SystemClock())
    assert first.season.phase == "REGISTRATION"
    assert load_or_create_season(MemoryStore(store.database), league, SystemClock()).season == first.season
    store.put_season_aside(league.league_id)
    assert load_or_create_season(store, league, SystemClock()).season.signing_key != first.season.signing_key


@pytest.mark.parametrize(("phase", "points"), [("REGISTRATION", 3), ("RUNNING", 5), ("COMPLETED", 5)])
def test_the_rules_stand_once_the_league_has_started(home: Path, phase: str, points: int) -> None:
    began = ConfigLoader(home, {"scoring.win_points": 5}).load_league()
    saved = load_or_create_season(MemoryStore(), began, SystemClock())
    now = ConfigLoader(home, {}).load_league()
    assert get_effective_config(SavedSeason(replace(saved.season, phase=phase)), now).scoring.win_points == points


@pytest.mark.parametrize("phase", ["RUNNING", "COMPLETED"])
def test_name_and_visibility_follow_the_file_since_they_change_no_result(home: Path, phase: str) -> None:
    began = ConfigLoader(home, {"display_name": "Old name"}).load_league()
    saved = load_or_create_season(MemoryStore(), began, SystemClock())
    now = {"display_name": "New name", "visibility": "pseudonyms", "registration": "keys"}
    found = get_effective_config(SavedSeason(replace(saved.season, phase=phase)), ConfigLoader(home, now).load_league())
    assert found.model_dump(include=set(now)) == now


async def test_a_name_that_was_changed_in_the_file_stands_in_the_store_from_the_next_start_on(
    office: OfficeMaker,
) -> None:
    store = MemoryStore()
    here = office({"display_name": "Old name"}, store=store)
    await here.seat_players(2)
    await here.seat_referee(auto_report=False)
    await here.start()
    later = office({"display_name": "New name"}, store=MemoryStore(store.database))
    async with at_work(later):
        assert later.manager.state.config.display_name == "New name"
        assert (await later.manage("PAUSE"))["status"] == "ok"  # answered once everything before it is committed
    saved = store.read_season(LEAGUE_ID)
    assert saved is not None
    assert (saved.season.phase, saved.season.settings["display_name"]) == ("RUNNING", "New name")
