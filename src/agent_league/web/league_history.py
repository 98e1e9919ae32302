"""What became of a season so far, kept while it happens: the table after each round, everybody's form, the news."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from agent_league.clock import Clock, SystemClock
from agent_league.league.standings import Table
from agent_league.league.state import Listener, Phase, Season
from agent_league.model.events import (
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    PauseChanged,
    RegistrationRefused,
    RoundCompleted,
    StoreChanged,
)
from agent_league.model.results import MatchResult

MOST_NEWS = 200
MOST_REFUSED = 5
"""So many of them may tell of somebody who was not admitted: anybody can knock, and in any words."""
FORM = 5
"""So many of a player's latest results are its form."""
ENOUGH = 5
"""From so many results on, how long the rest will take is more than a guess."""


@dataclass(frozen=True, slots=True)
class Place:
    """A player's place after a round."""

    rank: int
    points: int


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened; when, unless it was before anybody here took notice."""

    number: int
    at: datetime | None
    event: Event


class Chronicle:
    """Listens to a season. `version` grows with everything that happens in it."""

    def __init__(
        self, season: Season, clock: Clock | None = None, listen: Callable[[Listener], None] | None = None
    ) -> None:
        """`listen` is how it hears of the season, where that is not the season's own."""
        self._season = season
        self._clock = clock or SystemClock()
        self.version = 0
        self.places: list[dict[str, Place]] = []
        """For each completed round, where every player stood after it."""
        self.news: deque[News] = deque(maxlen=MOST_NEWS)
        """The latest, the newest last."""
        self.form: dict[str, deque[MatchResult]] = {}
        """The latest results of each player, the newest last."""
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.store_trouble = ""
        self._told = 0
        self._seen_from = (self._clock.now(), len(season.results))
        self._paused_at = self._clock.now() if season.is_paused else None
        self._catch_up()
        self._listeners: list[Listener] = []
        (listen or season.listen)(self._hear)

    def listen(self, listener: Listener) -> None:
        """Tells another part of the pages what happens: none of them may fail in the season's own ear."""
        self._listeners.append(listener)

    @property
    def before(self) -> dict[str, Place]:
        """Where everybody stood before the latest round that has a result."""
        done = self._season.rounds_completed
        rounds = self._season.schedule.rounds
        in_play = done < len(rounds) and any(p.match_id in self._season.results for p in rounds[done].pairings)
        last = done if in_play else done - 1
        return self.places[last - 1] if 0 < last <= len(self.places) else {}

    def seconds_left(self) -> float | None:
        """How long the rest will take at the pace so far, or None where that can't be said."""
        since, already = self._seen_from
        season = self._season
        matches = sum(len(round_.pairings) for round_ in season.schedule.rounds)
        done, left = len(season.results) - already, matches - len(season.results)
        if season.phase is not Phase.RUNNING or season.is_paused or done < ENOUGH or not left:
            return None
        return (self._clock.now() - since).total_seconds() / done * left

    def _hear(self, event: Event) -> None:
        self._note(event)
        for listener in self._listeners:
            listener(event)

    def _note(self, event: Event) -> None:
        self.version += 1
        now = self._clock.now()
        match event:
            case MatchAssigned():
                return
            case LeagueStarted():
                self.started_at = now
                self._seen_from = (now, 0)
                self._catch_up()
            case LeagueResumed():
                self._seen_from = (now, len(event.results))
                self._catch_up()
            case MatchFinished():
                self._add_to_form(event.result)
            case RoundCompleted() if event.round_id == len(self.places) + 1:
                self.places.append({row.player_id: Place(row.rank, row.points) for row in event.standings})
            case LeagueCompleted() if self.started_at:
                self.ended_at = now
            case PauseChanged():
                self._note_pause(now, is_paused=event.is_paused)
            case StoreChanged():
                self.store_trouble = "" if event.is_there else event.sentence
            case _:
                pass
        self._tell(now, event)

    def _note_pause(self, now: datetime, *, is_paused: bool) -> None:
        """A pause is no time in which anything could be played."""
        if is_paused:
            self._paused_at = now
        elif self._paused_at is not None:
            since, already = self._seen_from
            self._seen_from = (since + (now - max(since, self._paused_at)), already)
            self._paused_at = None

    def _tell(self, at: datetime | None, event: Event) -> None:
        self._told += 1
        if isinstance(event, RegistrationRefused):
            refused = [news for news in self.news if isinstance(news.event, RegistrationRefused)]
            for news in refused[: max(0, len(refused) + 1 - MOST_REFUSED)]:
                self.news.remove(news)
        self.news.append(News(self._told, at, event))

    def _add_to_form(self, result: MatchResult) -> None:
        for player_id in result.players:
            latest = self.form.setdefault(player_id, deque(maxlen=FORM))
            for earlier in [one for one in latest if one.match_id == result.match_id]:
                latest.remove(earlier)  # it was void until its referee reported it
            latest.append(result)

    def _catch_up(self) -> None:
        """Plays the finished rounds of a season that was taken up once more."""
        season = self._season
        names = {player_id: player.display_name for player_id, player in season.roster.players().items()}
        table = Table(names, season.scoring, season.league.scoring.tiebreakers)
        self.places = []
        self.form = {}
        for round_ in season.schedule.rounds[: season.rounds_completed]:
            for result in season.results_of(round_):
                table.record(result)
            self.places.append({row.player_id: Place(row.rank, row.points) for row in table.rows()})
        for result in season.results.values():
            self._add_to_form(result)
        if not self.news:
            for result in list(season.results.values())[-MOST_NEWS:]:
                self._tell(None, MatchFinished(result))
