"""Leagues of every format: the rounds that are paired, the table, and going on from what is stored."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.breaker import Breaker
from agent_league.config import ConfigLoader
from agent_league.config.models import LeagueConfig
from agent_league.errors import ConfigError, LeagueFailed
from agent_league.formats.base import TournamentRecord, make_round
from agent_league.formats.round_robin import RoundRobin
from agent_league.launch.config_checks import choose_league_config
from agent_league.league.roster import Member
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.stored_rows import agent_to_row
from agent_league.league.tournament import lay_out_rounds
from agent_league.model.agents import AgentProfile, Role
from agent_league.model.results import MatchResult, Outcome, select_champions
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.storage.base import (
    AgentRow,
    AuditRow,
    MatchRow,
    RemovedRow,
    RoundPlanRow,
    SavedSeason,
    SeasonRow,
    StoredRow,
    row_key,
)
from tests.formats.playing import make_entrants

EXPIRES = datetime(2030, 1, 1, tzinfo=UTC)
GROUPS_THEN_KNOCKOUT = {
    "stages": [{"format": "groups", "settings": {"group_size": 4}, "advance": 2}, {"format": "knockout"}]
}
FORMATS: tuple[tuple[dict[str, Any], int], ...] = (
    ({"format": "round_robin"}, 5),
    ({"format": "double_round_robin"}, 4),
    ({"format": "swiss"}, 9),
    ({"format": "knockout", "settings": {"best_of": 3}}, 13),
    ({"format": "double_elimination"}, 6),
    ({"format": "gauntlet"}, 5),
    (GROUPS_THEN_KNOCKOUT, 12),
    ({"format": "knockout", "settings": {"third_place": True}}, 11),
    ({"format": "swiss", "rounds": 2, "play_off": True}, 8),
    ({"stages": [{"format": "swiss", "settings": {"rounds": 3}, "advance": 4}, {"format": "knockout"}]}, 9),
)


class StoredLeague:
    """A league whose rows are kept, so that it can be loaded again at any time."""

    def __init__(self, home: Path, scheduling: dict[str, Any], players: int, **scoring: Any) -> None:
        loader = ConfigLoader(home, {})
        file = loader.load_league().model_dump(mode="json")
        file["scheduling"] = {**file["scheduling"], "matches_per_round": None, "lot": "7", **scheduling}
        file["scoring"] |= scoring
        self.config = LeagueConfig.model_validate_json(LeagueConfig.model_validate(file).model_dump_json())
        self.system = loader.load_system()
        self.rows: dict[object, StoredRow] = {}
        begun = SeasonRow(1, self.config.league_id, "2025-01-15T10:00:00Z", "key", self.config.model_dump(mode="json"))
        members = [*(self.make_member(Role.PLAYER, f"P{one:02}") for one in range(1, players + 1))]
        members.append(self.make_member(Role.REFEREE, "REF01"))
        self.state = LeagueState(self.config, self.system, begun, self.keep)
        self.state.restore_rows(SavedSeason(begun, [agent_to_row(member) for member in members]))
        for member in members:
            self.keep(agent_to_row(member))
        self.state.start_league()

    def make_member(self, role: Role, agent_id: str) -> Member:
        profile = AgentProfile(role, agent_id, f"Agent {agent_id}", f"http://{agent_id}/mcp")
        return Member(profile, f"hash of {agent_id}", EXPIRES, Breaker(5))

    def keep(self, row: StoredRow) -> None:
        if isinstance(row, RemovedRow):
            self.rows.pop(row_key(row), None)
        else:
            self.rows[row_key(row)] = row

    def load_again(self) -> LeagueState:
        rows = list(self.rows.values())
        season = next(row for row in rows if isinstance(row, SeasonRow))
        config = LeagueConfig.model_validate(dict(season.settings))
        again = LeagueState(config, self.system, season, self.keep)
        again.restore_rows(
            SavedSeason(
                season,
                [row for row in rows if isinstance(row, AgentRow)],
                [row for row in rows if isinstance(row, MatchRow)],
                tuple(row for row in rows if isinstance(row, RoundPlanRow)),
                tuple(row for row in rows if isinstance(row, AuditRow)),
            )
        )
        return again

    def play_round(self) -> None:
        """Play the next round: the lower id wins, but every third match is a draw."""
        state = self.state
        round_ = state.schedule.rounds[state.rounds_completed]
        state.begin_round(round_)
        for number, pairing in enumerate(round_.pairings):
            state.assign_match(pairing.match_id, "REF01")
            state.record_result(make_result(pairing, is_draw=(number + round_.round_id) % 3 == 0), "REF01")
        state.standings()  # somebody looks at the table before the next round is paired
        state.complete_round(round_.round_id)

    @property
    def has_next_round(self) -> bool:
        return self.state.rounds_completed < len(self.state.schedule.rounds)


def make_result(pairing: Pairing, *, is_draw: bool = False) -> MatchResult:
    winner = None if is_draw else min(pairing.players)
    outcome = Outcome.DRAW if is_draw else Outcome.WIN
    return MatchResult(pairing.match_id, pairing.round_id, pairing.players, outcome, winner)


@pytest.mark.parametrize(("scheduling", "players"), FORMATS, ids=lambda one: str(one)[:40])
def test_a_league_goes_on_from_every_round_as_if_nothing_had_happened(
    home: Path, scheduling: dict[str, Any], players: int
) -> None:
    league = StoredLeague(home, scheduling, players)
    while league.has_next_round:
        league.play_round()
        again = league.load_again()
        assert again.schedule == league.state.schedule, "pairings, reasons, byes, titles and stages"
        assert again.standings() == league.state.standings()
        league.state = again
    assert league.state.rounds_completed > 0
    assert league.state.schedule.next_round_id(league.state.rounds_completed) is None
    assert list(league.state.iter_standings())[-1] == league.state.standings()


def test_a_round_that_was_not_saved_before_a_kill_is_paired_again(home: Path) -> None:
    league = StoredLeague(home, {"format": "swiss"}, 8)
    league.play_round()
    paired = league.state.schedule
    league.rows = {key: row for key, row in league.rows.items() if getattr(row, "round_id", 1) == 1}
    assert league.load_again().schedule == paired


def test_a_bye_of_a_swiss_tournament_gives_the_points_of_a_win(home: Path) -> None:
    league = StoredLeague(home, {"format": "swiss"}, 5)
    (bye,) = league.state.schedule.rounds[0].byes
    league.play_round()
    row = next(row for row in league.state.standings() if row.player_id == bye)
    assert (row.played, row.points) == (0, 3)


def test_a_knockout_ranks_by_how_far_a_player_came(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 8)
    while league.has_next_round:
        league.play_round()
    rows = league.state.standings()
    assert [row.shared_rank for row in rows] == [1, 2, 3, 3, 5, 5, 5, 5]
    assert [row.rank for row in rows] == list(range(1, 9))
    assert rows[0].tiebreaks == {}, "points and tiebreakers decide nothing here"


def test_seven_who_are_level_on_points_share_the_first_rank_with_their_tiebreakers(home: Path) -> None:
    league = StoredLeague(home, {"format": "round_robin"}, 7, tiebreakers=["head_to_head", "buchholz"])
    state = league.state
    while league.has_next_round:
        round_ = state.schedule.rounds[state.rounds_completed]
        for pairing in round_.pairings:
            state.assign_match(pairing.match_id, "REF01")
            state.record_result(make_result(pairing, is_draw=True), "REF01")
        state.complete_round(round_.round_id)
    rows = state.standings()
    assert {row.shared_rank for row in rows} == {1}
    assert {row.tiebreaks["buchholz"] for row in rows} == {36}
    assert {row.tiebreaks["head_to_head"] for row in rows} == {6}
    assert len(select_champions(rows)) == 7


def play_all_drawn(league: StoredLeague, rounds: int, winners: frozenset[str] = frozenset()) -> None:
    """Play rounds in which nobody wins but these."""
    for _ in range(rounds):
        state = league.state
        round_ = state.schedule.rounds[state.rounds_completed]
        for pairing in round_.pairings:
            winner = next((one for one in pairing.players if one in winners), None)
            outcome = Outcome.WIN if winner else Outcome.DRAW
            result = MatchResult(pairing.match_id, round_.round_id, pairing.players, outcome, winner)
            state.assign_match(pairing.match_id, "REF01")
            state.record_result(result, "REF01")
        state.complete_round(round_.round_id)


def test_who_is_level_in_first_place_plays_for_it_where_the_league_file_asks_for_it(home: Path) -> None:
    league = StoredLeague(home, {"format": "round_robin", "play_off": True}, 4)
    play_all_drawn(league, 3)
    before = league.state.standings()
    assert {row.shared_rank for row in before} == {1}
    assert league.state.schedule.rounds[3].title == "Play-off for first place, round 1 of 3"
    assert league.state.schedule.next_round_id(3) == 4
    play_all_drawn(league, 3, winners=frozenset({"P03"}))
    rows = league.state.standings()
    assert not league.has_next_round
    assert [(row.player_id, row.shared_rank) for row in rows[:1]] == [("P03", 1)]
    assert [row.shared_rank for row in rows] == [1, 2, 2, 2]
    counted = {row.player_id: (row.played, row.points, row.tiebreaks) for row in before}
    assert {row.player_id: (row.played, row.points, row.tiebreaks) for row in rows} == counted, "it gives no points"
    assert league.load_again().standings() == rows


def test_without_a_word_in_the_league_file_there_is_no_play_off(home: Path) -> None:
    league = StoredLeague(home, {"format": "round_robin"}, 4)
    play_all_drawn(league, 3)
    assert not league.has_next_round


def test_a_bye_of_a_swiss_stage_gives_the_points_of_a_win_and_one_of_a_knockout_none(home: Path) -> None:
    stages = [{"format": "swiss", "settings": {"rounds": 1}, "advance": 3}, {"format": "knockout"}]
    league = StoredLeague(home, {"stages": stages}, 5)
    (bye,) = league.state.schedule.rounds[0].byes
    play_all_drawn(league, 1)
    points = {row.player_id: row.points for row in league.state.standings()}
    assert points[bye] == 3
    (knockout_bye,) = league.state.schedule.rounds[1].byes
    play_all_drawn(league, 1)
    assert next(row.points for row in league.state.standings() if row.player_id == knockout_bye) == points[knockout_bye]


def test_a_swiss_league_without_a_word_on_tiebreakers_has_buchholz(home: Path) -> None:
    def read_tiebreakers(**fields: Any) -> tuple[str, ...]:
        return LeagueConfig.model_validate({"league_id": "x", "game_type": "even_odd", **fields}).scoring.tiebreakers

    swiss = {"scheduling": {"format": "swiss"}}
    assert read_tiebreakers(**swiss) == ("buchholz_cut_1", "buchholz", "wins")
    assert read_tiebreakers(**swiss, scoring={"tiebreakers": ["wins"]}) == ("wins",)
    assert read_tiebreakers() == ("wins", "head_to_head", "draws")


def test_who_is_suspended_is_not_paired_in_a_swiss_tournament_and_comes_back(home: Path) -> None:
    league = StoredLeague(home, {"format": "swiss"}, 8)
    league.state.bar_player("P03")
    league.play_round()
    assert "P03" not in league.state.schedule.rounds[1].players
    league.state.reinstate_player("P03")
    league.play_round()
    assert "P03" in league.state.schedule.rounds[2].players


def test_a_swiss_tournament_takes_late_players_and_others_do_not(home: Path) -> None:
    late, fixed = StoredLeague(home, {"format": "swiss"}, 8), StoredLeague(home, {"format": "round_robin"}, 8)
    assert late.state.is_registration_open
    assert not fixed.state.is_registration_open
    late.play_round()
    late.state.roster.restore_member(late.make_member(Role.PLAYER, "P09"))
    late.state.standings_table.add_player("P09", "Agent P09")
    late.play_round()
    third = late.state.schedule.rounds[2]
    assert "P09" in (*third.players, *third.byes)
    while late.has_next_round:
        late.play_round()
    assert late.state.phase is LeaguePhase.RUNNING
    assert not late.state.is_registration_open, "no further round is paired"


def test_seeds_come_from_registration_the_lot_or_ratings(home: Path) -> None:
    def seeds(**scheduling: Any) -> tuple[str, ...]:
        league = StoredLeague(home, {"format": "knockout", **scheduling}, 8)
        return league.state.config.scheduling.seeded_players

    in_order = tuple(f"P{one:02}" for one in range(1, 9))
    assert seeds() == in_order
    assert len({seeds(seeding="lot", lot=str(lot)) for lot in range(5)}) == 5
    assert seeds(seeding="lot") == seeds(seeding="lot")
    by_rating = seeds(seeding="rating", ratings={"Agent P05": 1700.0, "Agent P02": 1600.0})
    assert by_rating == ("P05", "P02", *(one for one in in_order if one not in ("P05", "P02")))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"scheduling.format": "swis"}, "did you mean swiss?"),
        ({"scheduling.format": "knockout", "scheduling.rounds": 3}, "leave out --rounds"),
        ({"scheduling.format": "knockout", "scheduling.settings.best_off": 3}, "did you mean best_of?"),
        ({"scheduling.format": "knockout", "scheduling.settings.best_of": "x"}, "whole number"),
        ({"scheduling.stages": [{"format": "groups"}, {"format": "cup"}]}, "no format 'cup' is installed"),
    ],
    ids=str,
)
def test_a_wrong_format_is_told_before_the_start(home: Path, settings: dict[str, Any], told: str) -> None:
    loader = ConfigLoader(home, settings)
    with pytest.raises(ConfigError) as caught:
        choose_league_config(loader, loader.load_games_registry(), None, None, {})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("P01", "P02", "x"), ("P01", "P03", "x")], "the format 'odd' can't be played: in round 1 it pairs P01 twice"),
        ([("P01", "P77", "x")], "in round 1 it pairs 'P77', who is no player"),
        ([], "round 1 has no pairing"),
        ([("P01", "P02", "x")], "it goes on after 10000 rounds"),
    ],
)
def test_a_round_that_can_not_be_played_is_told_before_it_is_announced(
    pairs: list[tuple[str, str, str]], told: str
) -> None:
    class Odd(RoundRobin):
        name = "odd"

        def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
            return make_round(tournament, pairs)

    with pytest.raises(LeagueFailed) as caught:
        list(lay_out_rounds(Odd(), TournamentRecord(make_entrants(4))))
    assert told in str(caught.value)


def test_a_pairing_and_its_reason_come_back_from_the_store(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 4)
    first = league.load_again().schedule.rounds[0]
    assert [pairing.reason for pairing in first.pairings] == ["seed 1 meets seed 4", "seed 2 meets seed 3"]
    assert first.title == "Semi-finals"
    assert replace(first, title="") != first
