"""Taking up a league from the store: where an earlier manager left it, or from the beginning."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.config.models import LeagueConfig
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.base import Saved, Store, damaged_league

if TYPE_CHECKING:
    from agent_league.storage.sql import SqlStore


def open_store(home: Path, address: str | None) -> "SqlStore":
    """The store that a manager keeps its league in."""
    from agent_league.storage.sql import SqlStore, store_address  # noqa: PLC0415 - only managers need a database

    return SqlStore(store_address(home, address))


def taken_up(store: Store, league: LeagueConfig, clock: Clock) -> Saved:
    """The season of a league, or a new one; a finished one is put aside by whoever wants another."""
    saved = store.open(league.league_id)
    if saved is not None:
        return saved
    settings = league.model_dump(mode="json")
    return Saved(store.create(league.league_id, format_utc(clock.now()), SigningKey.new().saved, settings))


@contextmanager
def naming_damage(league_id: str) -> Iterator[None]:
    """Inside, what the store holds is read; a UserError where somebody has damaged it."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, LookupError) as error:
        raise damaged_league("The store", league_id, error) from None


def league_of(saved: Saved, league: LeagueConfig) -> LeagueConfig:
    """The rules of a league stand once it has started; until then its file counts."""
    if saved.season.phase == "REGISTRATION":
        return league
    return LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))
