"""The manager's files and log, which follow the league state: `standings.json`, `rounds.json`, `league.log.jsonl`.

They may be lost: `rebuild_league_files` writes them anew from the store.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.league.match_file_reader import (
    REPORTED_FIELD,
    BadMatchFile,
    build_match_content,
    is_file_of_match,
    load_match_file,
)
from agent_league.league.queries import LeagueQueries
from agent_league.league.resume import get_effective_config, translate_damage
from agent_league.league.state import LeagueState
from agent_league.log import JsonLogger
from agent_league.model.events import (
    AgentRegistered,
    CommandCarriedOut,
    Event,
    LeagueCompleted,
    MatchAssigned,
    MatchFinished,
    MatchReplaced,
    to_log_fields,
)
from agent_league.model.results import MatchResult, MatchState
from agent_league.model.schedule import LeagueRound
from agent_league.storage.base import SavedSeason
from agent_league.storage.files import ThrottledWriter
from agent_league.storage.match_segments import settle_left_segments
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import MatchRepository, RoundsRepository, StandingsRepository

CORRECTIONS_FIELD = "corrections"
"""Key in a match file: the organisers' commands about this match, as in the audit log."""


class LeagueProjections:
    """Listens to the events of a league and writes its files and log."""

    def __init__(self, state: LeagueState, home: Path, clock: Clock, log: JsonLogger) -> None:
        self._state = state
        self._clock = clock
        self._log = log
        self._queries = LeagueQueries(state)
        self._standings = StandingsRepository(state.league_id, home)
        self._rounds = RoundsRepository(state.league_id, home)
        self._writer = ThrottledWriter(self._request_write, log)
        self._round_cache: dict[int, tuple[str, bytes]] = {}
        """By round id: its status and its encoded JSON, valid until one of its matches changes."""
        self._is_write_due = False
        self._matches = MatchRepository(state.league_id, home)
        self._assigned_at: dict[str, str] = {}
        """By match id: when it was assigned to a guest referee."""
        self._reported_matches: list[tuple[MatchResult, str]] = []
        """Results from guest referees, and when they came, whose files are still to be written."""
        corrected = (entry.target for entry in state.audit_log if state.has_match(entry.target))
        self._corrected_matches = [*corrected, *state.set_aside]
        """Matches whose files are still to say that they were corrected; after a restart all that were."""
        state.add_listener(self._handle_event)

    def refresh_files(self) -> None:
        """Schedule a write after an earlier season was resumed, and write the match files that killed referees left."""
        self._writer.schedule_write()
        self._settle_matches()

    def write_after_commit(self) -> None:
        """Write the files that are due; called after each commit, which proves that this manager still owns them."""
        if self._reported_matches:
            self._write_reported_matches()
        self._write_corrections()
        if self._is_write_due:
            self._write_files()

    def discard_changes(self) -> None:
        """Discard pending writes: the files belong to another manager now."""
        self._writer.cancel_write()
        self._reported_matches.clear()
        self._corrected_matches.clear()
        self._is_write_due = False

    def close(self) -> None:
        self._writer.flush()
        self.write_after_commit()
        self._settle_matches()

    def _settle_matches(self) -> None:
        """Write the match files that killed referees left to write."""
        try:
            settle_matches(self._state, self._matches)
        except OSError as error:
            self._log.error("write_failed", error=str(error))

    def _handle_event(self, event: Event) -> None:
        match event:
            case MatchAssigned():
                if event.referee_id and not self._state.roster[event.referee_id].is_ours:
                    self._assigned_at[event.match_id] = format_utc(self._clock.now())
                self._round_cache.pop(self._state.get_pairing(event.match_id).round_id, None)
                if self._log.is_enabled("DEBUG"):  # as often as a result, which names the referee too
                    self._log.debug("MatchAssigned", **to_log_fields(event))
                return
            case MatchReplaced():
                self._round_cache.pop(event.pairing.round_id, None)
                self._log.info("MatchReplaced", match_id=event.match_id, replaced_by=event.pairing.match_id)
            case MatchFinished(result):
                self._round_cache.pop(result.round_id, None)
                if result.match_id in self._state.set_aside:
                    self._corrected_matches.append(result.match_id)
                referee_id = self._state.assigned_referees.get(result.match_id)
                if referee_id and not self._state.roster[referee_id].is_ours:
                    self._reported_matches.append((result, format_utc(self._clock.now())))
                self._log.log_buffered(
                    "MatchFinished",
                    match_id=result.match_id,
                    round_id=result.round_id,
                    outcome=result.outcome,
                    winner=result.winner,
                )
            case AgentRegistered():
                self._log.log_buffered("AgentRegistered", **to_log_fields(event))
            case _:
                self._log.info(type(event).__name__, **to_log_fields(event))
                if isinstance(event, CommandCarriedOut) and self._state.has_match(event.entry.target):
                    self._corrected_matches.append(event.entry.target)
                    self._round_cache.clear()  # rounds may have been paired anew
        self._writer.schedule_write()
        if isinstance(event, LeagueCompleted):
            self._writer.flush()  # the process may stop once the end is announced

    def _request_write(self) -> None:
        """Let the next commit write the files, so that a manager that was replaced doesn't write them."""
        self._is_write_due = True
        self._state.save_season_row()

    def _write_files(self) -> None:
        self._is_write_due = False
        try:
            self.save_files()
        except OSError as error:
            self._log.error("write_failed", error=str(error))

    def _write_reported_matches(self) -> None:
        """Write the files of matches of guest referees, which leave none here."""
        reported, self._reported_matches = self._reported_matches, []
        for result, at in reported:
            try:
                self._save_reported_match(result, at)
            except OSError as error:
                self._log.error("write_failed", match_id=result.match_id, error=str(error))

    def _write_corrections(self) -> None:
        """Write into the files of corrected matches what was corrected; what was played stays as it is."""
        corrected, self._corrected_matches = self._corrected_matches, []
        for match_id in dict.fromkeys(corrected):
            try:
                add_corrections(self._state, self._matches, match_id)
            except (OSError, ValueError) as error:
                self._log.error("write_failed", match_id=match_id, error=str(error))

    def _save_reported_match(self, result: MatchResult, at: str) -> None:
        given_at = self._assigned_at.pop(result.match_id, at)
        with suppress(BadMatchFile):
            path = self._matches.paths.match_file(self._state.league_id, result.match_id)
            if is_file_of_match(load_match_file(path), result, self._state.assigned_referees.get(result.match_id)):
                return  # its referee shares this folder and wrote a fuller file
        states = [{"state": MatchState.WAITING_FOR_PLAYERS, "at": given_at}, {"state": MatchState.FINISHED, "at": at}]
        content = {
            **build_match_content(self._state, result),
            REPORTED_FIELD: True,
            "lifecycle": states,
            "transcript": [],
        }
        self._matches.save(result.match_id, content)

    def save_files(self) -> None:
        """Write both files from the current state."""
        now = format_utc(self._clock.now())
        rows = [row.to_json() for row in self._state.standings()]
        self._standings.save(rows, self._state.rounds_completed, now)
        self._writer.note_written_bytes(self._rounds.save([*map(self._encode_round, self._state.schedule.rounds)], now))

    def _encode_round(self, round_: LeagueRound) -> bytes:
        """Return a round as JSON, from the cache unless it changed."""
        status = self._queries.get_round_status(round_.round_id)
        known = self._round_cache.get(round_.round_id)
        if known is None or known[0] != status:
            text = self._rounds.encode_round(self._queries.describe_round(round_))
            known = self._round_cache[round_.round_id] = (status, text)
        return known[1]


def rebuild_league_files(
    saved: SavedSeason, league: LeagueConfig, system: SystemConfig, home: Path, clock: Clock
) -> list[Path]:
    """Write `standings.json`, `rounds.json` and missing match files again; returns the paths written."""
    with translate_damage(league.league_id):
        season = LeagueState(get_effective_config(saved, league), system, saved.season, save_row=lambda _: None)
        season.restore_rows(saved)
    paths = DataPaths(home)
    log = JsonLogger("league", season.league_id, paths.logs_folder, **system.logging.logger_options)
    LeagueProjections(season, home, clock, log).save_files()
    return [
        paths.standings_file(season.league_id),
        paths.rounds_file(season.league_id),
        *_write_missing_matches(season, MatchRepository(season.league_id, home)),
    ]


def _write_missing_matches(state: LeagueState, files: MatchRepository) -> Iterator[Path]:
    """Write the missing match files: what the referee left if there is that, else what the league knows."""
    missing = [one for one in state.results if not files.paths.match_file(state.league_id, one).is_file()]
    settle_matches(state, files)
    for match_id in missing:
        path = files.paths.match_file(state.league_id, match_id)
        if files.load(match_id) is None:
            files.save(match_id, {**build_match_content(state, state.results[match_id]), "rebuilt": True})
        if path.is_file():
            yield path


def settle_matches(state: LeagueState, files: MatchRepository) -> None:
    """Write the match files that referees left to write which are no more, as far as their results are recorded."""

    def decide(match_id: str, referee_id: str, content: bytes) -> bool | None:
        result = state.results.get(match_id)
        if result is None:
            return None
        return (
            not result.is_void
            and state.assigned_referees.get(match_id) == referee_id
            and is_file_of_match(orjson.loads(content), result, referee_id)
        )

    settle_left_segments(files.paths.matches_folder(state.league_id), decide)


def add_corrections(state: LeagueState, files: MatchRepository, match_id: str) -> None:
    """Add the audit entries of a match to its file; without a file, write what the league knows."""
    replaced = state.replaced_matches.get(match_id)
    result = replaced.result if replaced else state.results.get(match_id)
    content = files.load(match_id) or ({**build_match_content(state, result), "rebuilt": True} if result else None)
    if content is None:
        return
    entries = [entry.to_json() for entry in state.list_corrections(match_id)]
    corrections = [{name: value for name, value in entry.items() if name != "before"} for entry in entries]
    again = {"replaced_by": replaced.replaced_by} if replaced else {}
    if content.get(CORRECTIONS_FIELD) != corrections:
        files.save(match_id, {**content, **again, CORRECTIONS_FIELD: corrections})
