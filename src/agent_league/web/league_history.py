"""History of a league, recorded from its events: ranks after each round, recent results of each player, news."""

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
"""Maximum news items about refused registrations, which any stranger can cause and word."""
FORM = 5
"""Number of a player's latest results that are shown as its form."""
ENOUGH = 5
"""Results needed before the remaining time is estimated."""


@dataclass(frozen=True, slots=True)
class Place:
    """A player's rank and points after a round."""

    rank: int
    points: int


@dataclass(frozen=True, slots=True)
class News:
    """An event with its time; None if it happened before this process listened."""

    number: int
    at: datetime | None
    event: Event


class Chronicle:
    """Listens to a league's events and keeps what pages show of the past. `version` grows with every event."""

    def __init__(
        self, season: Season, clock: Clock | None = None, listen: Callable[[Listener], None] | None = None
    ) -> None:
        """Listen to the league; `listen` registers a listener, by default with the league's state itself."""
        self._season = season
        self._clock = clock or SystemClock()
        self.version = 0
        self.places: list[dict[str, Place]] = []
        """For each completed round, the rank of every player after it."""
        self.news: deque[News] = deque(maxlen=MOST_NEWS)
        """Latest news items, newest last."""
        self.form: dict[str, deque[MatchResult]] = {}
        """Latest results of each player, newest last."""
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
        """Register a listener of the web part here instead of with the league, where its errors would do harm."""
        self._listeners.append(listener)

    @property
    def before(self) -> dict[str, Place]:
        """Rank of every player before the latest round that has a result."""
        done = self._season.rounds_completed
        rounds = self._season.schedule.rounds
        in_play = done < len(rounds) and any(p.match_id in self._season.results for p in rounds[done].pairings)
        last = done if in_play else done - 1
        return self.places[last - 1] if 0 < last <= len(self.places) else {}

    def seconds_left(self) -> float | None:
        """Estimate the remaining seconds at the pace so far; None if there is no basis for it."""
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
        """Exclude the time of a pause from the pace of play."""
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
                latest.remove(earlier)  # a void result, replaced by the referee's late report
            latest.append(result)

    def _catch_up(self) -> None:
        """Recompute ranks, recent results and news from the stored results, for a league that was resumed."""
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
