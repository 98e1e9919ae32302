"""What a server tells the others of its leagues, for their index; and the index with the leagues of others in it."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from agent_league.league.state import LeaguePhase
from agent_league.serve.index_page import FailedEntry, LeagueEntry, LeagueIndex, hide_home, read_entry
from agent_league.serve.served_league import LeagueHealth, ServedLeague
from agent_league.storage.directory import DirectoryView, LeagueSummary

PLAYERS_PER_WEIGHT = 10
"""So many players weigh as much as a league does by itself."""


def summarise_leagues(leagues: Iterable[ServedLeague], home: Path, now: datetime) -> dict[str, LeagueSummary]:
    """Say how far leagues are and how much work they are; of those that are starting, nothing."""
    found = {}
    for league in leagues:
        if league.manager is not None:
            entry, phase = asdict(read_entry(league, league.manager, now)), league.manager.state.phase
            weight = 0.0 if phase is LeaguePhase.COMPLETED else 1 + entry["players"] / PLAYERS_PER_WEIGHT
            found[league.league_id] = LeagueSummary(league.league_id, weight, {"phase": phase, "entry": entry})
        elif league.health is LeagueHealth.FAILED:
            told = {"problem": hide_home(league.problem, home)}
            found[league.league_id] = LeagueSummary(league.league_id, 1.0, told)
    return found


def add_others_leagues(index: LeagueIndex, view: DirectoryView, own: Collection[str]) -> LeagueIndex:
    """Add the leagues of other servers to an index, as their owners tell of them."""
    by_phase: dict[str, list[LeagueEntry]] = {phase: [] for phase in LeaguePhase}
    failed, starting = [], []
    for lease in view.leagues.values():
        if not lease.is_defined or lease.league_id in own:
            continue
        told = lease.summary or {}
        entry = _parse_entry(told.get("entry"))
        if entry is not None and told.get("phase") in by_phase:
            by_phase[told["phase"]].append(entry)
        elif "problem" in told:
            failed.append(FailedEntry(lease.league_id, str(told["problem"])))
        else:
            starting.append(lease.league_id)
    return replace(
        index,
        now=_merge(index.now, by_phase[LeaguePhase.RUNNING]),
        soon=_merge(index.soon, by_phase[LeaguePhase.REGISTRATION]),
        past=_merge(index.past, by_phase[LeaguePhase.COMPLETED]),
        failed=(*index.failed, *failed),
        starting=tuple(sorted((*index.starting, *starting))),
    )


def read_summaries_version(view: DirectoryView, own: Collection[str]) -> Hashable:
    """Return a value that changes with what is told of other servers' leagues."""
    others = (lease for lease in view.leagues.values() if lease.league_id not in own)
    return tuple((lease.league_id, lease.is_defined, repr(lease.summary)) for lease in others)


def _merge(own: Iterable[LeagueEntry], others: Iterable[LeagueEntry]) -> tuple[LeagueEntry, ...]:
    return tuple(sorted((*own, *others), key=lambda entry: entry.league_id))


def _parse_entry(told: Mapping[str, Any] | None) -> LeagueEntry | None:
    """Read what an owner tells; None if it is of another version that tells less than this one needs."""
    if not isinstance(told, dict):
        return None
    known = {part.name: told[part.name] for part in fields(LeagueEntry) if part.name in told}
    try:
        return LeagueEntry(**known)
    except TypeError:
        return None
