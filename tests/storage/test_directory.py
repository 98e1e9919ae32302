"""The directory of servers on a real PostgreSQL: leases, claims, fences and what servers tell each other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from agent_league.errors import UserError
from agent_league.storage import migrations
from agent_league.storage.base import ManagerReplaced, MatchRow, OtherServersRun
from agent_league.storage.directory import (
    DirectoryView,
    LeagueLease,
    LeagueSummary,
    ServerDirectory,
    ServerRow,
    count_fair_claims,
)
from agent_league.storage.sql import SqlStore
from tests.storage.conftest import Place

A, B, C = (ServerRow(name, f"http://10.0.0.{number}:8000", name) for number, name in enumerate("abc", start=1))
LONG, OVER = 3600.0, 0.0


class Stage:
    """Servers that share one database, each with a connection of its own."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def directory(self, seconds: float = LONG) -> ServerDirectory:
        return ServerDirectory(self.store(), seconds)

    def store(self) -> SqlStore:
        store = self.place.store()
        assert isinstance(store, SqlStore)
        return store

    def expire(self, server: ServerRow) -> None:
        """Let the time of a server's lease run out."""
        self.place.execute(f"UPDATE servers SET expires_at = 0 WHERE server_id = '{server.server_id}'")


@pytest.fixture
def stage(database: str) -> Iterator[Stage]:
    place = Place(database)
    yield Stage(place)
    place.close()


def define(directory: ServerDirectory, *leagues: str) -> None:
    for league_id in leagues:
        directory.define_league(league_id, "{}")


def test_a_league_has_one_owner_until_that_is_gone(stage: Stage) -> None:
    one, other = stage.directory(), stage.directory()
    one.enter(A)
    other.enter(B)
    define(one, "spring", "summer")
    assert one.find_owner("spring") is None
    assert one.claim_leagues(A, 1) == ["spring"]
    assert other.claim_leagues(B, 5) == ["summer"]
    assert (other.find_owner("spring"), one.find_owner("summer")) == (A, B)
    assert other.claim_leagues(B, 5) == []
    stage.expire(A)
    assert other.find_owner("spring") is None
    assert one.claim_leagues(A, 5) == []
    assert other.claim_leagues(B, 5) == ["spring"]
    assert not one.renew(A), "an expired row must never be renewed"
    assert other.renew(B)
    assert {name: (lease.server_id, lease.epoch) for name, lease in one.read_view().leagues.items()} == {
        "spring": ("b", 2),
        "summer": ("b", 1),
    }


def test_whoever_lost_its_lease_cant_write_from_the_claim_on(stage: Stage) -> None:
    directory, writer = stage.directory(), stage.store()
    directory.enter(A)
    directory.enter(B)
    define(directory, "spring")
    directory.claim_leagues(A, 1)
    season_id = writer.create_season("spring", "2026-01-01T00:00:00Z", "key", {}).season_id
    writer.write_rows(season_id, [MatchRow("R1M1", 1, "P01", "P02")])
    stage.expire(A)
    writer.write_rows(season_id, [MatchRow("R1M2", 1, "P01", "P02")])  # nobody has claimed it yet
    assert directory.claim_leagues(B, 1) == ["spring"]
    with pytest.raises(ManagerReplaced):
        writer.write_rows(season_id, [MatchRow("R1M3", 1, "P01", "P02")])


def test_a_season_that_somebody_is_writing_is_claimed_when_they_are_done(stage: Stage) -> None:
    directory, writer = stage.directory(), stage.store()
    directory.enter(A)
    define(directory, "spring", "summer")
    season_id = writer.create_season("spring", "2026-01-01T00:00:00Z", "key", {}).season_id
    with writer.write_transaction() as connection:
        writer.write_season_rows(connection, season_id, [MatchRow("R1M1", 1, "P01", "P02")])
        assert directory.claim_leagues(A, 5) == ["summer"]
    assert directory.claim_leagues(A, 5) == ["spring"]


def test_a_server_that_leaves_or_starts_anew_frees_its_leagues_at_once(stage: Stage) -> None:
    directory = stage.directory()
    directory.enter(A)
    directory.enter(B)
    define(directory, "spring", "summer")
    directory.claim_leagues(A, 1)
    directory.claim_leagues(B, 1)
    directory.leave(B)
    assert [lease.league_id for lease in directory.read_view().list_free()] == ["summer"]
    again = ServerRow("a2", A.address, A.machine)
    directory.enter(again)
    view = directory.read_view()
    assert [lease.league_id for lease in view.list_free()] == ["spring", "summer"]
    assert {*view.servers} == {"a2"}
    assert not directory.renew(A)
    directory.enter(ServerRow("a3", A.address, "another machine"))
    assert {*directory.read_view().servers} == {"a2", "a3"}


def test_a_server_that_passes_calls_in_another_way_is_refused_while_the_others_run(stage: Stage) -> None:
    directory = stage.directory()
    directory.enter(replace(A, version="1.0", protocol=1))
    directory.enter(replace(B, version="1.1", protocol=1))
    newer = replace(C, version="2.0", protocol=2)
    with pytest.raises(OtherServersRun, match=r"http://10\.0\.0\.\d:8000 .* of version 1\.\d, .* than version 2\.0"):
        directory.enter(newer)
    view = directory.read_view()
    assert {name: row.version for name, row in view.servers.items()} == {"a": "1.0", "b": "1.1"}
    directory.leave(A)
    directory.enter(replace(newer, address=B.address, machine=B.machine))
    assert {*directory.read_view().servers} == {"c"}, "it has taken the place of the one that was there"


def make_older_database(stage: Stage, monkeypatch: pytest.MonkeyPatch, seconds: float = LONG) -> None:
    """Make a database as the release before servers had versions made it, with a server that uses it."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", migrations.STEPS[:11])
        stage.store().bring_up_to_date()
    row = f"'old', 'http://10.0.0.9:8000', 'm', {migrations.NOW} + {seconds}"
    stage.place.execute(f"INSERT INTO servers VALUES ({row})")


def test_a_newer_version_changes_no_schema_under_servers_that_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_older_database(stage, monkeypatch)
    with pytest.raises(OtherServersRun, match=r"schema version 11, .* use it: http://10\.0\.0\.9:8000\. Stop them all"):
        stage.store().bring_up_to_date()
    assert stage.place.execute("SELECT max(version) FROM agent_league_schema") == [(11,)]
    looked = stage.directory().peek()
    assert looked is not None
    assert {name: row.version for name, row in looked.servers.items()} == {"old": ""}
    stage.place.execute("UPDATE servers SET expires_at = 0")
    directory = stage.directory()
    directory.enter(A)
    assert {*directory.read_view().servers} == {"a"}


def test_a_server_that_was_paused_while_a_newer_version_changed_the_schema_doesnt_enter_again(stage: Stage) -> None:
    directory = stage.directory()
    directory.enter(A)
    stage.expire(A)
    newer = len(migrations.STEPS) + 1
    stage.place.execute(f"INSERT INTO agent_league_schema VALUES ({newer})")
    with pytest.raises(UserError, match=f"has schema version {newer}"):
        directory.enter(replace(A, server_id="a2"))
    assert not directory.read_view().servers


def test_many_claim_at_once_and_no_league_goes_to_two(stage: Stage) -> None:
    servers = [ServerRow(f"s{number}", f"http://10.0.0.{number}:8000") for number in range(4)]
    directories = [stage.directory() for _ in servers]
    define(directories[0], *(f"L{number:03}" for number in range(80)))
    for server, directory in zip(servers, directories, strict=True):
        directory.enter(server)
    with ThreadPoolExecutor(4) as threads:
        claim = [
            threads.submit(lambda one, by: [by.claim_leagues(one, 5) for _ in range(8)], one, by)
            for one, by in zip(servers, directories, strict=True)
        ]
        claimed = [league for future in claim for leagues in future.result() for league in leagues]
    assert len(claimed) == len({*claimed}) == 80


def test_definitions_summaries_and_wishes_reach_all_servers(stage: Stage) -> None:
    one, other = stage.directory(), stage.directory()
    one.enter(A)
    assert one.define_league("spring", '{"display_name": "Frühling"}') == 1
    assert one.define_league("spring", '{"display_name": "Frühling"}') == 1, "the same content is no change"
    assert other.define_league("spring", '{"display_name": "\\u0000"}') == 2
    assert one.read_definition("spring") == ('{"display_name": "\\u0000"}', 2)
    one.claim_leagues(A, 1)
    one.write_summaries(A, [LeagueSummary("spring", 7.5, {"players": 6})])
    other.ask_for_season("spring")
    found = other.read_view().leagues["spring"]
    assert (found.weight, found.summary, found.new_season) == (7.5, {"players": 6}, True)
    one.ask_for_season("spring", wanted=False)
    other.remove_league("spring")
    assert one.read_definition("spring") is None
    assert one.find_owner("spring") == A, "its owner has yet to stop it"
    assert one.read_view().find_owner("spring") is None
    assert one.passing_key() == other.passing_key()
    assert len(one.passing_key()) == 32


def lease(league_id: str, server_id: str | None, weight: float = 1.0) -> LeagueLease:
    return LeagueLease(league_id, 1, True, server_id, 1, weight)


def view(servers: str, *leagues: LeagueLease) -> DirectoryView:
    return DirectoryView({name: ServerRow(name, "") for name in servers}, {one.league_id: one for one in leagues})


def share(found: DirectoryView) -> dict[str, int]:
    return {name: count_fair_claims(found, name) for name in found.servers}


def test_free_leagues_go_to_whoever_has_the_least_work() -> None:
    free = [lease(f"free{number}", None) for number in range(6)]
    assert share(view("abc", *free)) == {"a": 2, "b": 2, "c": 2}
    held = [lease(f"held{number}", "a") for number in range(5)]
    assert share(view("ab", *held, *free)) == {"a": 1, "b": 5}
    assert share(view("ab", lease("ladder", "a", 300.0), *free)) == {"a": 0, "b": 6}
    orphans = [lease(f"orphan{number}", "gone") for number in range(4)]
    assert share(view("ab", *orphans)) == {"a": 2, "b": 2}
    assert share(view("ab", *[lease(f"over{number}", None, 0.0) for number in range(4)])) == {"a": 2, "b": 2}
    assert count_fair_claims(view("ab", *free), "gone") == 0
