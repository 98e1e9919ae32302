"""Seasons to look at: real ones, whose matches nobody has to play. The same call gives the same season each time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from agent_league.config.models import LeagueConfig, ParticipantsConfig, SchedulingConfig, SystemConfig
from agent_league.league.roster import AgentApplication
from agent_league.league.state import LeaguePhase, LeagueState, SaveRow
from agent_league.model.agents import AgentProfile, Role
from agent_league.model.looks import NO_LOOK, PlayerLook
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.storage.base import SeasonRow
from agent_league.web.league_reader import LeagueHistory, LeagueReader

NOW = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
MANY = 10**6
"""More matches than a league has."""
AT_ONCE = 2
"""Matches that a referee is running."""


class SteppedClock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment

    def wait(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


def season_of(
    players: int,
    played: int | None = None,
    *,
    names: Sequence[str] = (),
    looks: Sequence[PlayerLook] = (),
    referees: int = 2,
    room: int = 2,
    game_type: str = "even_odd",
    display_name: str = "Spring league",
    started: bool = True,
    double: bool = False,
    scheduling: SchedulingConfig | None = None,
    keep: SaveRow = lambda _: None,
) -> LeagueState:
    """A season with so many results; None: all of them, and the league is over. The first have the names and looks."""
    league = LeagueConfig(
        league_id="league_of_tests",
        display_name=display_name,
        game_type=game_type,
        scheduling=scheduling or SchedulingConfig(format="double_round_robin" if double else "round_robin"),
        participants=ParticipantsConfig(max_players=max(players, room)),
    )
    system = SystemConfig(default_league_id=league.league_id)
    season = LeagueState(league, system, SeasonRow(1, league.league_id, "2025-01-15T10:00:00Z", ""), keep)
    for number in range(1, referees + 1):
        _register(season, Role.REFEREE, f"Referee {number}", 8000 + number)
    for number in range(1, players + 1):
        name = names[number - 1] if number <= len(names) else f"Player {number}"
        look = looks[number - 1] if number <= len(looks) else NO_LOOK
        _register(season, Role.PLAYER, name, 8100 + number, look)
    if started:
        season.start_league()
        play_on(season, MANY if played is None else played)
    return season


def reader_of(season: LeagueState, home: Path) -> LeagueReader:
    """Of a season as it stands; what happens from here on is news."""
    return LeagueReader(season, home, LeagueHistory(season))


def play_on(season: LeagueState, matches: int) -> None:
    """So many more results, in order; the round after them has begun, and its next matches are being played."""
    while season.rounds_completed < len(season.schedule.rounds):
        round_ = season.schedule.rounds[season.rounds_completed]
        if season.current_round < round_.round_id:
            season.begin_round(round_)
        waiting = [pairing for pairing in round_.pairings if pairing.match_id not in season.results]
        for pairing in waiting[:matches]:
            _assign(season, pairing)
            season.record_result(result_of(pairing), season.assigned_referees[pairing.match_id])
        if len(waiting) > matches:
            _give_out(season, round_)
            return
        matches -= len(waiting)
        season.complete_round(round_.round_id)
    if season.phase is LeaguePhase.RUNNING:
        season.complete_league()


def result_of(pairing: Pairing) -> MatchResult:
    """What becomes of a match: the better one mostly wins, some draw, and of fifty one is lost technically."""
    chance = Random(pairing.match_id)
    better = max(pairing.players, key=_strength)
    winner = better if chance.random() < 0.7 else next(other for other in pairing.players if other != better)
    loser = next(other for other in pairing.players if other != winner)
    terminations = dict.fromkeys(pairing.players, Termination.NORMAL)
    outcome = chance.choices((Outcome.WIN, Outcome.DRAW, Outcome.TECHNICAL_LOSS), (36, 13, 1))[0]
    if outcome is Outcome.TECHNICAL_LOSS:
        terminations[loser] = chance.choice((Termination.MOVE_TIMEOUT, Termination.DISCONNECTED))
    return MatchResult(
        match_id=pairing.match_id,
        round_id=pairing.round_id,
        players=pairing.players,
        outcome=outcome,
        winner=None if outcome is Outcome.DRAW else winner,
        details={
            "drawn_number": chance.randint(1, 10),
            "choices": dict(zip(pairing.players, ("even", "odd"), strict=True)),
        },
        terminations=terminations,
    )


def _strength(player_id: str) -> float:
    return Random(player_id).random()


def _give_out(season: LeagueState, round_: LeagueRound) -> None:
    """The next matches of a round have their referees."""
    waiting = [pairing for pairing in round_.pairings if pairing.match_id not in season.results]
    for pairing in waiting[: AT_ONCE * len(season.roster.referees())]:
        _assign(season, pairing)


def _assign(season: LeagueState, pairing: Pairing) -> None:
    if pairing.match_id not in season.assigned_referees:
        referees = list(season.roster.referees())
        season.assign_match(pairing.match_id, referees[len(season.assigned_referees) % len(referees)])


def _register(season: LeagueState, role: Role, name: str, port: int, look: PlayerLook = NO_LOOK) -> None:
    season.register(
        AgentApplication(
            AgentProfile(
                role, name, name, f"http://localhost:{port}/mcp", "1.0.0", (season.config.game_type,), AT_ONCE, (), look
            ),
            is_ours=True,
        ),
        NOW,
    )
