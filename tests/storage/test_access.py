"""What every store of rosters and organisers promises, in memory, in SQLite and in PostgreSQL."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent_league.storage.access import (
    AccessStore,
    MemoryAccessStore,
    OrganiserSecret,
    SecretKind,
    TeamRow,
    TeamSessionRow,
    create_key,
    hash_key,
)
from agent_league.storage.sql import SqlStore
from agent_league.storage.sql_access import SqlAccessStore
from tests.storage.conftest import Place

LEAGUE = "league_spring"
NOW = "2026-03-01T12:00:00Z"
LATER = "2026-03-01T18:00:00Z"
LATEST = "2026-03-02T18:00:00Z"
OpenAccess = Callable[[], AccessStore]


@pytest.fixture
def open_access(place: Place) -> OpenAccess:
    """Opens the same rows as another process would."""
    memory = MemoryAccessStore()

    def open_() -> AccessStore:
        store = place.store()
        return SqlAccessStore(store) if isinstance(store, SqlStore) else memory

    return open_


def team(team_id: str = "T01", key: str | None = "key-a", **changes: object) -> TeamRow:
    students = [{"student_id": "1", "name": "Ærø \u0000 😀", "email": "a@b.example"}]
    row = TeamRow(LEAGUE, team_id, "Team \u0000 '", students=students, key_sha256=key and hash_key(key), created_at=NOW)
    return replace(row, **changes)  # type: ignore[arg-type]


def secret(
    text: str = "s", kind: SecretKind = SecretKind.LINK, name: str = "Ada", **changes: object
) -> OrganiserSecret:
    return replace(OrganiserSecret(hash_key(text), kind, name, None, LATER), **changes)  # type: ignore[arg-type]


def test_where_nothing_was_written_nothing_is_found(open_access: OpenAccess) -> None:
    access = open_access()
    assert access.read_teams(LEAGUE) == []
    assert access.find_team(LEAGUE, hash_key("key-a")) is None
    assert not access.has_roster(LEAGUE)
    assert access.list_secrets(NOW) == []
    assert access.find_secret(hash_key("s"), SecretKind.LINK, NOW) is None


def test_a_team_is_found_by_its_key_in_its_own_league_alone(open_access: OpenAccess) -> None:
    open_access().write_teams([team(), team("T02", "key-b"), team("T01", "key-c", league_id="league_autumn")])
    access = open_access()
    assert access.find_team(LEAGUE, hash_key("key-a")) == team()
    assert access.find_team("league_autumn", hash_key("key-a")) is None
    assert [row.team_id for row in access.read_teams(LEAGUE)] == ["T01", "T02"]


def test_a_new_key_replaces_the_old_and_a_revoked_one_is_unknown(open_access: OpenAccess) -> None:
    access = open_access()
    access.write_teams([team()])
    access.write_teams([team(key="key-new")])
    assert access.find_team(LEAGUE, hash_key("key-a")) is None
    assert access.find_team(LEAGUE, hash_key("key-new")) == team(key="key-new")
    access.write_teams([team(key=None), team("T02", None)])
    assert access.find_team(LEAGUE, hash_key("key-new")) is None
    assert len(access.read_teams(LEAGUE)) == 2


def test_a_key_of_referees_makes_no_roster(open_access: OpenAccess) -> None:
    access = open_access()
    access.write_teams([team("referees", role="referee")])
    assert not access.has_roster(LEAGUE)
    access.write_teams([team("T01", "key-b")])
    assert access.has_roster(LEAGUE)


def test_a_link_is_found_until_it_expires_and_taken_once(open_access: OpenAccess) -> None:
    access = open_access()
    access.write_secret(secret())
    sha256 = hash_key("s")
    assert access.find_secret(sha256, SecretKind.LINK, NOW) == secret()
    assert access.find_secret(sha256, SecretKind.SESSION, NOW) is None
    assert access.find_secret(sha256, SecretKind.LINK, LATER) is None
    assert access.take_secret(sha256, SecretKind.LINK, LATEST) is None
    assert open_access().take_secret(sha256, SecretKind.LINK, NOW) == secret()
    assert access.take_secret(sha256, SecretKind.LINK, NOW) is None


def test_of_many_who_take_a_link_at_once_one_gets_it(open_access: OpenAccess) -> None:
    open_access().write_secret(secret())
    stores, taken = [open_access() for _ in range(4)], []
    ready = threading.Barrier(len(stores))

    def take(access: AccessStore) -> None:
        ready.wait()
        taken.append(access.take_secret(hash_key("s"), SecretKind.LINK, NOW))

    threads = [threading.Thread(target=take, args=(access,)) for access in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken, key=repr) == sorted([secret(), None, None, None], key=repr)


def test_a_revoked_organiser_has_no_link_and_no_session(open_access: OpenAccess) -> None:
    access = open_access()
    access.write_secret(secret("a"))
    access.write_secret(secret("b", SecretKind.SESSION, league_id=LEAGUE))
    access.write_secret(secret("c", SecretKind.SESSION, "Bob", expires_at=LATEST))
    assert open_access().revoke_organiser("Ada") == 2
    assert access.list_secrets(NOW) == [secret("c", SecretKind.SESSION, "Bob", expires_at=LATEST)]
    assert access.revoke_organiser("Ada") == 0


def session(text: str, team_id: str = "T01", expires_at: str = LATER, league_id: str = LEAGUE) -> TeamSessionRow:
    return TeamSessionRow(hash_key(text), league_id, team_id, hash_key("key-a"), expires_at)


def test_a_team_s_session_is_found_in_its_league_until_it_ends(open_access: OpenAccess) -> None:
    assert open_access().find_team_session(LEAGUE, hash_key("s"), NOW) is None
    open_access().write_team_session(session("s"), NOW, longest=2)
    access = open_access()
    assert access.find_team_session(LEAGUE, hash_key("s"), NOW) == session("s")
    assert access.find_team_session("league_autumn", hash_key("s"), NOW) is None
    assert access.find_team_session(LEAGUE, hash_key("s"), LATER) is None
    access.delete_team_session("league_autumn", hash_key("s"))
    assert access.find_team_session(LEAGUE, hash_key("s"), NOW)
    access.delete_team_session(LEAGUE, hash_key("s"))
    assert open_access().find_team_session(LEAGUE, hash_key("s"), NOW) is None


def test_the_oldest_session_of_a_team_gives_way_and_expired_ones_go(open_access: OpenAccess) -> None:
    access = open_access()
    for one in (session("other", "T02"), session("elsewhere", league_id="league_autumn"), session("a"), session("b")):
        access.write_team_session(one, NOW, longest=2)
    access.write_team_session(session("c", expires_at=LATEST), NOW, longest=2)

    def list_found(now: str) -> list[str]:
        places = [("a", LEAGUE), ("b", LEAGUE), ("c", LEAGUE), ("other", LEAGUE), ("elsewhere", "league_autumn")]
        return [text for text, league in places if access.find_team_session(league, hash_key(text), now)]

    assert list_found(NOW) == ["b", "c", "other", "elsewhere"]
    access.write_team_session(session("d", "T03", LATEST), LATER, longest=2)
    assert list_found(NOW) == ["c"]


def test_keys_are_random_and_survive_an_address() -> None:
    keys = {create_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert all(len(key) == 30 and key.startswith("key-") and key.isascii() and key == key.lower() for key in keys)
