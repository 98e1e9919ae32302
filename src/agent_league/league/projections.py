"""The manager's files and log, which follow the league state: `standings.json`, `rounds.json`, `league.log.jsonl`."""

from contextlib import suppress
from pathlib import Path

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.league.match_files import REPORTED, BadMatchFile, load_match_file, recorded_match, tells_of
from agent_league.league.queries import Queries
from agent_league.league.state import Season
from agent_league.log import JsonLogger
from agent_league.model.events import Event, LeagueCompleted, MatchAssigned, MatchFinished, brief
from agent_league.model.results import MatchResult, MatchState
from agent_league.model.schedule import Round
from agent_league.storage.files import Projection
from agent_league.storage.repositories import MatchRepository, RoundsRepository, StandingsRepository


class Records:
    """Listens to the events of a league and writes its files and log."""

    def __init__(self, season: Season, home: Path, clock: Clock, log: JsonLogger) -> None:
        self._season = season
        self._clock = clock
        self._log = log
        self._queries = Queries(season)
        self._standings = StandingsRepository(season.league_id, home)
        self._rounds = RoundsRepository(season.league_id, home)
        self._projection = Projection(self._ask, log)
        self._written: dict[int, tuple[str, orjson.Fragment]] = {}
        """By round id: its status and its encoded JSON, valid until one of its matches changes."""
        self._due = False
        self._matches = MatchRepository(season.league_id, home)
        self._given_at: dict[str, str] = {}
        """By match id: when it was assigned to a guest referee."""
        self._reported: list[tuple[MatchResult, str]] = []
        """Results from guest referees, and when they came, whose files are still to be written."""
        season.listen(self._on_event)

    def refresh(self) -> None:
        """Schedule a write after an earlier season was resumed."""
        self._projection.changed()

    def committed(self) -> None:
        """Write the files that are due; called after each commit, which proves that this manager still owns them."""
        self._write_reported()
        if self._due:
            self._write()

    def drop(self) -> None:
        """Discard pending writes: the files belong to another manager now."""
        self._projection.drop()
        self._reported.clear()
        self._due = False

    def close(self) -> None:
        self._projection.flush()
        self._write_reported()
        if self._due:
            self._write()

    def _on_event(self, event: Event) -> None:
        match event:
            case MatchAssigned():
                if event.referee_id and not self._season.is_ours(event.referee_id):
                    self._given_at[event.match_id] = format_utc(self._clock.now())
                self._written.pop(self._season.pairing(event.match_id).round_id, None)
                if self._log.enabled("DEBUG"):  # as often as a result, which names the referee too
                    self._log.debug("MatchAssigned", **brief(event))
                return
            case MatchFinished(result):
                self._written.pop(result.round_id, None)
                if not self._season.is_ours(self._season.assigned[result.match_id]):
                    self._reported.append((result, format_utc(self._clock.now())))
                self._log.log_soon(
                    "MatchFinished",
                    match_id=result.match_id,
                    round_id=result.round_id,
                    outcome=result.outcome,
                    winner=result.winner,
                )
            case _:
                self._log.info(type(event).__name__, **brief(event))
        self._projection.changed()
        if isinstance(event, LeagueCompleted):
            self._projection.flush()  # the process may stop once the end is announced

    def _ask(self) -> None:
        """Let the next commit write the files, so that a manager that was replaced doesn't write them."""
        self._due = True
        self._season.touch()

    def _write(self) -> None:
        self._due = False
        try:
            self.save()
        except OSError as error:
            self._log.error("write_failed", error=str(error))

    def _write_reported(self) -> None:
        """Write the files of matches of guest referees, which leave none here."""
        reported, self._reported = self._reported, []
        for result, at in reported:
            try:
                self._save_reported(result, at)
            except OSError as error:
                self._log.error("write_failed", match_id=result.match_id, error=str(error))

    def _save_reported(self, result: MatchResult, at: str) -> None:
        given_at = self._given_at.pop(result.match_id, at)
        with suppress(BadMatchFile):
            path = self._matches.paths.match(self._season.league_id, result.match_id)
            if tells_of(load_match_file(path), result, self._season.assigned.get(result.match_id)):
                return  # its referee shares this folder and wrote a fuller file
        states = [{"state": MatchState.WAITING_FOR_PLAYERS, "at": given_at}, {"state": MatchState.FINISHED, "at": at}]
        content = {**recorded_match(self._season, result), REPORTED: True, "lifecycle": states, "transcript": []}
        self._matches.save(result.match_id, content)

    def save(self) -> None:
        """Write both files from the current state."""
        now = format_utc(self._clock.now())
        rows = [row.as_dict() for row in self._season.standings()]
        self._standings.save(rows, self._season.rounds_completed, now)
        self._projection.wrote(self._rounds.save([*map(self._round, self._season.schedule.rounds)], now))

    def _round(self, round_: Round) -> orjson.Fragment:
        """Return a round as JSON, from the cache unless it changed."""
        status = self._queries.round_status(round_.round_id)
        known = self._written.get(round_.round_id)
        if known is None or known[0] != status:
            text = self._rounds.written(self._queries.round_in_file(round_))
            known = self._written[round_.round_id] = (status, text)
        return known[1]
