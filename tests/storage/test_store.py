"""What every store promises, in memory, in SQLite and in PostgreSQL."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from agent_league.storage.base import (
    AgentRow,
    AuditRow,
    LadderRow,
    ManagerReplaced,
    MatchRow,
    NewsRow,
    RemovedRow,
    SavedSeason,
    SeasonRow,
    Store,
    StoredRow,
)
from tests.storage.conftest import Place

LEAGUE = "league_2025_even_odd"
NOW = "2025-01-15T12:00:00Z"
NESTED = {"a": [1, 2.5, -1e300, 0.1, None, True, {"": [[]]}], "big": 2**200, "text": 'ü "quoted" \u0000 \u2028 😀'}


def agent(agent_id: str = "P01", **changes: Any) -> AgentRow:
    row = AgentRow(
        agent_id=agent_id,
        role="player",
        display_name="Ærøskøbing 😀 \u0000 ' \"",
        endpoint="http://127.0.0.1:8101/mcp",
        version="1.0.0",
        game_types=["even_odd", "tic_tac_toe"],
        max_concurrent_matches=2**70,
        protocol="league.v2",
        token_sha256="a" * 64,
        token_expires="2025-01-16T12:00:00+00:00",
        key_sha256=None,
        state="ACTIVE",
        failures=3,
    )
    return replace(row, **changes)


def match(match_id: str = "R1M1", **changes: Any) -> MatchRow:
    return replace(MatchRow(match_id, round_id=1, player_a="P01", player_b="P02"), **changes)


def begin(store: Store, league_id: str = LEAGUE) -> SeasonRow:
    return store.create_season(league_id, NOW, "the key", {"players": 4})


def saved(place: Place, league_id: str = LEAGUE) -> SavedSeason:
    found = place.store().read_season(league_id)
    assert found is not None
    return found


def test_where_nothing_was_written_nothing_is_found(place: Place) -> None:
    store = place.store()
    assert store.open_season(LEAGUE) is None
    assert store.read_season(LEAGUE) is None
    assert store.put_season_aside(LEAGUE) is False


def test_a_new_season_is_found_as_it_was_made(place: Place) -> None:
    season = place.store().create_season(LEAGUE, NOW, "the key", NESTED)
    assert season == SeasonRow(season.season_id, LEAGUE, NOW, "the key", NESTED)
    assert saved(place) == SavedSeason(season, [], [])


@pytest.mark.parametrize(
    "row",
    [
        agent(),
        agent(barred=True, state="SUSPENDED"),
        agent(key_sha256="b" * 64, game_types=[], display_name="", failures=0),
        match(),
        match(referee_id="REF01", result=NESTED),
        match(result={}),
    ],
)
def test_what_is_written_is_read_back_equal(place: Place, row: AgentRow | MatchRow) -> None:
    store = place.store()
    season = begin(store)
    store.write_rows(season.season_id, [row])
    kinds = (saved(place).agents, saved(place).matches)
    assert kinds == (([row], []) if isinstance(row, AgentRow) else ([], [row]))


def test_the_audit_log_is_read_back_in_the_order_of_its_numbers(place: Place) -> None:
    store = place.store()
    season_id = begin(store).season_id
    rows = [AuditRow(number, {**NESTED, "change": f"change {number}"}) for number in range(1, 13)]
    store.write_rows(season_id, rows[5:])
    store.write_rows(season_id, rows[:5])
    assert list(saved(place).audit) == rows
    other = begin(store, "another_league").season_id
    store.write_rows(other, [AuditRow(1, {})])
    assert list(saved(place).audit) == rows
    assert list(saved(place, "another_league").audit) == [AuditRow(1, {})]


def test_a_season_that_has_moved_on_is_read_back_equal(place: Place) -> None:
    store = place.store()
    season = replace(begin(store), phase="RUNNING", rounds_completed=2, announced=True, settings=NESTED)
    season = replace(season, registration_open=False, paused=True)
    store.write_rows(season.season_id, [season])
    found = saved(place).season
    assert found == season
    assert (found.announced is True, found.registration_open is False, found.paused is True) == (True, True, True)


def test_agents_and_matches_stand_in_the_order_of_their_first_writing(place: Place) -> None:
    store = place.store()
    season_id = begin(store).season_id
    store.write_rows(season_id, [match("R2M1"), agent("P10"), agent("P02"), match("R10M1")])
    store.write_rows(season_id, [agent("P01"), agent("P02", state="SUSPENDED"), match("R1M1"), match("R2M1")])
    assert [row.agent_id for row in saved(place).agents] == ["P10", "P02", "P01"]
    assert [row.match_id for row in saved(place).matches] == ["R2M1", "R10M1", "R1M1"]


def test_the_last_row_of_a_key_counts_within_a_write_and_between_writes(place: Place) -> None:
    store = place.store()
    season = begin(store)
    store.write_rows(season.season_id, [agent(failures=1), match(referee_id="REF01"), agent(failures=2)])
    assert saved(place).agents == [agent(failures=2)]
    player, played = agent(failures=0, key_sha256="c"), match(referee_id=None, result={"winner": "P01"})
    over = replace(season, phase="COMPLETED")
    store.write_rows(season.season_id, [replace(season, phase="RUNNING"), player, played, over])
    assert saved(place) == SavedSeason(over, [player], [played])


def test_a_row_replaces_every_field_of_the_one_before(place: Place) -> None:
    store = place.store()
    season = begin(store)
    store.write_rows(season.season_id, [agent(), match()])
    moved_on = replace(
        season,
        created_at="2026-01-15T12:00:00Z",
        signing_key="another key",
        settings={},
        phase="RUNNING",
        rounds_completed=1,
        announced=True,
        registration_open=False,
        paused=True,
    )
    other_agent = AgentRow("P01", "referee", "B", "http://b", "2", ["x"], 2, "league.v1", "t", "e", "k", "SUSPENDED", 4)
    other_match = MatchRow("R1M1", 2, "P03", "P04", "REF01", {"winner": None})
    store.write_rows(season.season_id, [moved_on, other_agent, other_match])
    assert saved(place) == SavedSeason(moved_on, [other_agent], [other_match])


def test_a_write_that_fails_in_the_middle_leaves_nothing_behind(place: Place) -> None:
    store = place.store()
    season = begin(store)
    store.write_rows(season.season_id, [agent("P01"), match("R1M1")])
    before = saved(place)
    # A database refuses a match without a round when the rest is written already; memory refuses what is no JSON.
    bad = match("R9M9", round_id=None) if place.address else match("R9M9", result={"what": object()})
    rows: list[StoredRow] = [
        replace(season, phase="RUNNING"),
        agent("P01", failures=9),
        agent("P02"),
        match("R1M2"),
        bad,
    ]
    with pytest.raises(Exception, match=r"round_id|serializable"):
        store.write_rows(season.season_id, rows)
    assert saved(place) == before
    store.write_rows(season.season_id, rows[:-1])
    assert [row.agent_id for row in saved(place).agents] == ["P01", "P02"]


def test_rows_that_the_caller_changes_later_stay_as_they_were_written(place: Place) -> None:
    store = place.store()
    settings: dict[str, Any] = {"players": [4]}
    result: dict[str, Any] = {"winner": ["P01"]}
    season = store.create_season(LEAGUE, NOW, "the key", settings)
    store.write_rows(season.season_id, [match(result=result)])
    settings["players"].append(5)
    result["winner"].append("P02")
    saved(place).season.settings["players"].append(6)
    assert season.settings == saved(place).season.settings == {"players": [4]}
    assert saved(place).matches[0].result == {"winner": ["P01"]}


def test_a_season_put_aside_makes_room_for_a_new_one(place: Place) -> None:
    store = place.store()
    old = begin(store)
    store.write_rows(old.season_id, [agent(), match()])
    assert store.put_season_aside(LEAGUE) is True
    assert store.put_season_aside(LEAGUE) is False
    assert store.read_season(LEAGUE) is None
    new = begin(store)
    assert new.season_id != old.season_id
    assert saved(place) == SavedSeason(new, [], [])


def test_creating_puts_aside_what_was_there(place: Place) -> None:
    store = place.store()
    old = begin(store)
    new = begin(store)
    store.write_rows(new.season_id, [agent("P07")])
    with pytest.raises(ManagerReplaced):
        store.write_rows(old.season_id, [agent("P01")])
    assert saved(place) == SavedSeason(new, [agent("P07")], [])


def test_two_leagues_in_one_place_do_not_meet(place: Place) -> None:
    here, there = place.store(), place.store()
    first, second = begin(here, "league_a"), begin(there, "league_b")
    here.write_rows(first.season_id, [agent("P01", failures=1), match(referee_id="REF01")])
    there.write_rows(second.season_id, [agent("P01", failures=2)])
    assert here.put_season_aside("league_a")
    there.write_rows(second.season_id, [match(referee_id="REF02")])
    assert saved(place, "league_b") == SavedSeason(second, [agent("P01", failures=2)], [match(referee_id="REF02")])


def test_whoever_opened_a_season_last_is_its_only_manager(place: Place) -> None:
    first, second = place.store(), place.store()
    season = begin(first)
    first.write_rows(season.season_id, [agent("P01")])
    taken = second.open_season(LEAGUE)
    assert taken == SavedSeason(season, [agent("P01")], [])
    with pytest.raises(ManagerReplaced):
        first.write_rows(season.season_id, [agent("P02"), replace(season, phase="COMPLETED")])
    second.write_rows(season.season_id, [agent("P03")])
    assert saved(place) == SavedSeason(season, [agent("P01"), agent("P03")], [])
    assert first.open_season(LEAGUE) == saved(place)
    first.write_rows(season.season_id, [match()])
    with pytest.raises(ManagerReplaced):
        second.write_rows(season.season_id, [])


def test_a_season_that_was_never_opened_here_is_not_written(place: Place) -> None:
    season = begin(place.store())
    stranger = place.store()
    assert stranger.read_season(LEAGUE)
    for season_id in (season.season_id, season.season_id + 1):
        with pytest.raises(ManagerReplaced):
            stranger.write_rows(season_id, [agent()])
    assert saved(place).agents == []


def test_whoever_only_reads_deposes_nobody(place: Place) -> None:
    store = place.store()
    season = begin(store)
    assert place.store().read_season(LEAGUE) == SavedSeason(season, [], [])
    store.write_rows(season.season_id, [agent()])
    assert saved(place).agents == [agent()]


def test_calls_may_come_from_different_threads(place: Place) -> None:
    store = place.store()
    season = begin(store)
    for number in range(3):
        call = threading.Thread(target=store.write_rows, args=(season.season_id, [match(f"R{number}M1")]))
        call.start()
        call.join()
    assert len(saved(place).matches) == 3


def test_writing_no_rows_is_allowed(place: Place) -> None:
    store = place.store()
    store.write_rows(begin(store).season_id, [])
    assert saved(place).agents == []


def test_posts_are_kept_in_order_until_they_are_removed(place: Place) -> None:
    store = place.store()
    season_id, other = begin(store).season_id, begin(store, "another_league").season_id
    rows = [NewsRow(number, {"body": f"ü 😀 {number}"}) for number in (1, 2, 10)]
    store.write_rows(season_id, rows[::-1])
    store.write_rows(other, rows[:1])
    assert list(saved(place).news) == rows
    store.write_rows(season_id, [RemovedRow(NewsRow, "2"), RemovedRow(NewsRow, "77")])
    assert list(saved(place).news) == [rows[0], rows[2]]
    assert list(saved(place, "another_league").news) == rows[:1]


def test_rows_of_a_ladder_are_replaced_and_removed_and_a_removed_match_is_gone(place: Place) -> None:
    store = place.store()
    season_id, other = begin(store).season_id, begin(store, "another_league").season_id
    rows = [LadderRow("pair/P01#1/P02#1", {"wins": 1}), LadderRow("player/ü 😀", NESTED)]
    store.write_rows(season_id, [*rows, match("R1M1"), match("R1M2")])
    store.write_rows(other, [rows[0], match("R1M1")])
    store.write_rows(season_id, [LadderRow(rows[0].key, {"wins": 2}), RemovedRow(LadderRow, rows[1].key)])
    assert list(saved(place).ladder) == [LadderRow(rows[0].key, {"wins": 2})]
    changed = match("R1M1", referee_id="REF01")
    store.write_rows(
        season_id, [RemovedRow(MatchRow, "R1M2"), changed, RemovedRow(MatchRow, "R1M1"), RemovedRow(MatchRow, "R9M9")]
    )
    assert list(saved(place).matches) == []
    assert (list(saved(place, "another_league").matches), list(saved(place, "another_league").ladder)) == (
        [match("R1M1")],
        rows[:1],
    )
    store.write_rows(season_id, [match("R1M1")])
    assert list(saved(place).matches) == [match("R1M1")]
