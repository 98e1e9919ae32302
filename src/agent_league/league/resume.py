"""Loads a league from the store, where an earlier manager left it, or creates a new season."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.config.models import LeagueConfig
from agent_league.league.changed_times import choose_times
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.access import AccessStore, create_key
from agent_league.storage.base import SavedSeason, Store, damaged_league_error
from agent_league.storage.files import write_atomically
from agent_league.storage.paths import DataPaths
from agent_league.text import KEY_PREFIX

if TYPE_CHECKING:
    from agent_league.storage.sql import SqlStore


FOLLOWED_SETTINGS = ("display_name", "visibility", "registration")
"""Settings of the league file that count from the next start on, whatever the league began with."""


def open_store(home: Path, address: str | None) -> "SqlStore":
    """Open the SQL store of a manager; `address` None means the file in its home."""
    from agent_league.storage.sql import SqlStore, resolve_store_address  # noqa: PLC0415 - only managers need a database

    return SqlStore(resolve_store_address(home, address))


def open_access(store: Store) -> AccessStore | None:
    """Open the rosters and organisers in the same database; None for a store that isn't one."""
    if not hasattr(store, "write_transaction"):
        return None
    from agent_league.storage.sql import SqlStore  # noqa: PLC0415 - as above
    from agent_league.storage.sql_access import SqlAccessStore  # noqa: PLC0415 - as above

    return SqlAccessStore(store) if isinstance(store, SqlStore) else None


def load_referee_key(home: Path, league_id: str, *, is_needed: bool) -> str:
    """Load the key of referees on the organiser's own machine, or create it: a file that only its owner can read.

    Without need there is no file, and referees register as they always did; `save_referee_key` writes it later.
    """
    file = DataPaths(home).referee_key_file(league_id)
    if not is_needed:
        file.unlink(missing_ok=True)
        return create_key()
    try:
        key = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        key = ""
    if not key.startswith(KEY_PREFIX):
        key = create_key()
        save_referee_key(home, league_id, key)
    return key


def save_referee_key(home: Path, league_id: str, key: str) -> None:
    """Write the key of referees on the organiser's own machine where they look for it."""
    write_atomically(DataPaths(home).referee_key_file(league_id), key.encode() + b"\n", mode=0o600)


def derive_admin_token(key: SigningKey) -> str:
    """Derive the admin token of a season whose league moves between servers; the same on all of them."""
    return f"tok-admin-{key.derive_match_key('admin token')}"


def save_admin_token(home: Path, league_id: str, token: str) -> None:
    """Write the admin token of a league where only the organiser can read it."""
    write_atomically(DataPaths(home).admin_token_file(league_id), token.encode() + b"\n", mode=0o600)


def load_or_create_season(store: Store, league: LeagueConfig, clock: Clock) -> SavedSeason:
    """Load the current season of a league or create one; a finished season is loaded too, until it is put aside."""
    saved = store.open_season(league.league_id)
    if saved is not None:
        return saved
    settings = league.model_dump(mode="json", exclude={"webhooks"})
    return SavedSeason(
        store.create_season(league.league_id, format_utc(clock.now()), SigningKey.generate().private_jwk, settings)
    )


@contextmanager
def translate_damage(league_id: str) -> Iterator[None]:
    """Context in which stored data is read: errors in the data become a UserError that names the damage."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, LookupError) as error:
        raise damaged_league_error("The store", league_id, error) from None


def get_effective_config(saved: SavedSeason, league: LeagueConfig) -> LeagueConfig:
    """Return the stored settings once the league has started; until then, those of its file.

    Its times are always those of its file, or those that the organiser has set since that was changed. What changes no
    result is always as its file says: its name, who sees what, who may come in, and how a practice ladder pairs, which
    has no end after which that could change.
    """
    times = choose_times(league.times, saved.season.settings, saved.season.time_marks)
    if saved.season.phase == "REGISTRATION":
        return league if times is league.times else league.model_copy(update={"times": times})
    stored = LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))
    ladder = league.ladder if stored.ladder and league.ladder else stored.ladder
    followed = {name: getattr(league, name) for name in FOLLOWED_SETTINGS}
    return stored.model_copy(update={"times": times, "ladder": ladder, **followed})
