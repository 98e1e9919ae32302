"""Whose token it is, and as whom its bearer may call: told by each agent of a real league, without asking anybody."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import run_agents
from agent_league.launch.plan import LeaguePlan
from agent_league.league.app import LeagueManager
from agent_league.league.resume import open_store
from agent_league.players.app import Player
from agent_league.protocol.methods import Caller
from agent_league.protocol.tokens import SigningKey
from agent_league.referee.app import Referee
from agent_league.storage.paths import DataPaths
from tests.conftest import BOUND, PlanMaker
from tests.players.chair import chair
from tests.referee.hall import hall

OPEN = frozenset({Caller.ANYBODY, Caller.APPLICANT})
ANYBODY = frozenset({Caller.ANYBODY})


@dataclass(frozen=True)
class League:
    """Two players after their match."""

    plan: LeaguePlan
    manager: LeagueManager
    referee: Referee
    player: Player
    other: Player
    key: SigningKey

    @property
    def admin(self) -> str:
        return DataPaths(self.plan.home).admin_token_file(self.plan.league.league_id).read_text().strip()

    def own(self, agent: Player | Referee) -> str:
        token = agent._session.token
        assert token is not None
        return token

    def manager_token(self, agent_id: str, **changes: Any) -> str:
        usual = {"league_id": self.plan.league.league_id, "now": datetime.now(UTC), "lifetime": 60.0}
        return self.key.sign_manager_token(audience=agent_id, **{**usual, **changes})

    def match_token(self, **changes: Any) -> str:
        usual = {"league_id": self.plan.league.league_id, "now": datetime.now(UTC), "lifetime": 60.0}
        match: dict[str, Any] = {"match_id": "R1M1", "referee_id": "REF01", "players": ("P01", "P02")}
        return self.key.sign_match_token(**{**usual, **match, "audience": ["P01", "P02"], **changes})


@asynccontextmanager
async def played(plan: LeaguePlan) -> AsyncIterator[League]:
    async with asyncio.timeout(BOUND), run_agents(MemoryNetwork(), plan.agent_plans) as agents:
        manager, referee, player, other = agents
        assert isinstance(manager, LeagueManager)
        assert isinstance(referee, Referee)
        assert isinstance(player, Player)
        assert isinstance(other, Player)
        await manager.completed.wait()
        store = open_store(plan.home, None)
        saved = store.read_season(plan.league.league_id)
        store.close()
        assert saved is not None
        yield League(plan, manager, referee, player, other, SigningKey.load(saved.season.signing_key))


async def test_the_manager_knows_the_owner_of_each_token(plan: PlanMaker) -> None:
    async with played(plan(players=2, referees=1)) as league:
        manager = league.manager
        owners = {league.own(league.player): "player:P01", league.own(league.referee): "referee:REF01"}
        owners[league.admin] = "league_manager"
        assert {token: manager.caller(token) for token in owners} == owners
        assert manager.audience(league.own(league.player)) == OPEN | {Caller.AGENT}
        assert manager.audience(league.own(league.referee)) == OPEN | {Caller.AGENT, Caller.REFEREE}
        assert manager.audience(league.admin) == OPEN | {Caller.ADMIN}
        for stranger in ("", "tok-p01-nonsense", league.manager_token("league_manager"), league.match_token()):
            assert manager.caller(stranger) is None
            assert manager.audience(stranger) == OPEN


async def test_the_manager_can_t_tell_who_comes_without_a_token_or_where_none_is_needed(plan: PlanMaker) -> None:
    async with played(plan({"security.enable_auth_tokens": False}, players=2, referees=1)) as league:
        assert league.manager.caller(None) is None
        assert league.manager.audience(None) is None
        assert league.manager.audience(league.own(league.player)) is None


async def test_an_expired_token_is_nobody_s_at_the_manager(plan: PlanMaker) -> None:
    async with played(plan(players=2, referees=1)) as league:
        token, manager = league.own(league.player), league.manager
        for member in manager.state.roster:
            member.token_expires = datetime.now(UTC) - timedelta(seconds=1)
        assert (manager.caller(token), manager.audience(token)) == (None, OPEN)


async def test_a_referee_knows_the_manager_and_the_players_of_its_matches(plan: PlanMaker) -> None:
    async with played(plan(players=2, referees=1)) as league:
        referee = league.referee
        assert referee.caller(league.manager_token("REF01")) == "league_manager"
        assert referee.audience(league.manager_token("REF01")) == ANYBODY | {Caller.MANAGER}
        assert referee.caller(league.own(league.other)) == "player:P02"
        assert referee.audience(league.own(league.other)) == ANYBODY | {Caller.MATCH_PLAYER}
        for stranger in (league.manager_token("P01"), league.match_token(), league.own(referee), league.admin):
            assert referee.caller(stranger) is None
            assert referee.audience(stranger) == ANYBODY
        assert (referee.caller(None), referee.audience(None)) == (None, None)


async def test_a_player_knows_the_manager_and_the_referees_of_its_matches(plan: PlanMaker) -> None:
    async with played(plan(players=2, referees=1)) as league:
        player = league.player
        assert player.caller(league.manager_token("P01")) == "league_manager"
        assert player.audience(league.manager_token("P01")) == ANYBODY | {Caller.MANAGER}
        assert player.caller(league.match_token(referee_id="REF07")) == "referee:REF07"
        assert player.audience(league.match_token()) == ANYBODY | {Caller.MATCH_REFEREE}
        foreign = SigningKey.generate().sign_manager_token(
            league_id=league.plan.league.league_id, audience="P01", now=datetime.now(UTC), lifetime=60
        )
        elsewhere = league.manager_token("P01", league_id="another")
        for stranger in (foreign, elsewhere, league.match_token(audience=["P02"]), league.own(player), "nonsense"):
            assert player.caller(stranger) is None
            assert player.audience(stranger) == ANYBODY
        assert (player.caller(None), player.audience(None)) == (None, None)


async def test_whose_a_token_was_is_known_when_its_time_is_over(plan: PlanMaker) -> None:
    """Whether it still counts is decided when it is used: the player may have to ask the manager what o'clock it is."""
    async with played(plan(players=2, referees=1)) as league:
        old = league.match_token(now=datetime.now(UTC) - timedelta(days=1))
        assert league.player.caller(old) == "referee:REF01"


async def test_a_referee_that_shows_its_own_token_is_known_as_one(plan: PlanMaker) -> None:
    async with played(plan(players=2, referees=1)) as league:
        league.player._session.callers.add_referee_hashes({"R1M1": hashlib.sha256(b"tok-ref01-its-own").hexdigest()})
        assert league.player.caller("tok-ref01-its-own") is None
        assert league.player.audience("tok-ref01-its-own") == ANYBODY | {Caller.MATCH_REFEREE}


async def test_under_a_manager_that_signs_nothing_nobody_can_be_told_from_others(home: Path) -> None:
    async with asyncio.timeout(BOUND), hall(home) as match:
        assert (match.referee.caller("anything"), match.referee.audience("anything")) == (None, None)
    async with asyncio.timeout(BOUND), chair(home) as seat:
        assert (seat.player.caller("anything"), seat.player.audience("anything")) == (None, None)
