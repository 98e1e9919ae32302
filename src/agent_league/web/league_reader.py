"""Read access to a league for pages, exports and commands: of the running manager, or of a league in the store.

`LeagueHistory` records from its events what pages show of the past: ranks after each round, recent results, news.
"""

import asyncio
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from agent_league.agent.metrics import AgentMetrics
from agent_league.clock import Clock, SystemClock
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.errors import Refusal
from agent_league.http.carrier import RequestRejected
from agent_league.league.live_positions import LivePositions
from agent_league.league.queries import LeagueQueries
from agent_league.league.resume import translate_damage
from agent_league.league.state import EventListener, LeaguePhase, LeagueState
from agent_league.league.visibility import ORGANISER, Viewer, mask_state
from agent_league.model.event_words import describe_event
from agent_league.model.events import (
    CommandCarriedOut,
    Event,
    LeagueCompleted,
    LeagueReopened,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchReplaced,
    PauseChanged,
    RegistrationRefused,
    RoundCompleted,
    RoundStarted,
    StoreChanged,
)
from agent_league.model.looks import NO_LOOK, PlayerLook
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.storage.base import SavedSeason
from agent_league.storage.paths import DataPaths
from agent_league.text import find_telling_ends
from agent_league.web.league_ratings import LeagueRatings, make_ladder_report
from agent_league.web.rating_history import RatingHistory

if TYPE_CHECKING:
    from agent_league.ratings.report import RatingReport

MOST_NEWS = 200
MOST_REFUSED = 5
"""Maximum news items about refused registrations, which any stranger can cause and word."""
FORM_LENGTH = 5
"""Number of a player's latest results that are shown as its form."""
MIN_RESULTS_FOR_ESTIMATE = 5
"""Results needed before the remaining time is estimated."""
SAVED_SECONDS = 20.0
"""How long what is to be shown waits until it is saved."""


@dataclass(frozen=True, slots=True)
class RoundRank:
    """A player's rank and points after a round."""

    rank: int
    points: int


class RoundRanks(Mapping[str, RoundRank]):
    """The rank and points of every player after a round, best first, in a fraction of a dict's memory."""

    __slots__ = ("_player_ids", "_points", "_ranks")

    def __init__(self, rows: Sequence[StandingsRow]) -> None:
        self._player_ids = tuple(row.player_id for row in rows)
        self._ranks = array("i", [row.shared_rank for row in rows])
        self._points = array("q", [row.points for row in rows])

    def __getitem__(self, player_id: str) -> RoundRank:
        try:
            place = self._player_ids.index(player_id)
        except ValueError:
            raise KeyError(player_id) from None
        return RoundRank(self._ranks[place], self._points[place])

    def __iter__(self) -> Iterator[str]:
        return iter(self._player_ids)

    def __len__(self) -> int:
        return len(self._player_ids)

    def to_dict(self) -> dict[str, RoundRank]:
        """All of them at once, for those who look up many."""
        return dict(zip(self._player_ids, map(RoundRank, self._ranks, self._points), strict=True))


@dataclass(frozen=True, slots=True)
class NewsItem:
    """An event with its time; None if it happened before this process listened."""

    number: int
    at: datetime | None
    event: Event


class LeagueHistory:
    """Listens to a league's events and keeps what pages show of the past. `version` grows with every event."""

    def __init__(
        self, season: LeagueState, clock: Clock | None = None, listen: Callable[[EventListener], None] | None = None
    ) -> None:
        """Listen to the league; `listen` registers a listener, by default with the league's state itself."""
        self._league_state = season
        self._clock = clock or SystemClock()
        self.version = 0
        self.ranks_by_round: list[RoundRanks] = []
        """For each completed round, the rank of every player after it."""
        self.news: deque[NewsItem] = deque(maxlen=MOST_NEWS)
        """Latest news items, newest last."""
        self.recent_results: dict[str, deque[MatchResult]] = {}
        """Latest results of each player, newest last."""
        self.round_times: dict[int, tuple[datetime | None, datetime | None]] = {}
        """When each round began and ended, as far as this process has seen it."""
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.store_problem = ""
        self._news_count = 0
        self._pace_start = (self._clock.now(), season.matches_played)
        self._paused_at = self._clock.now() if season.is_paused else None
        self._rebuild_from_results()
        self._listeners: list[EventListener] = []
        (listen or season.add_listener)(self._handle_event)

    def add_listener(self, listener: EventListener) -> None:
        """Register a listener of the web part here instead of with the league, where its errors would do harm."""
        self._listeners.append(listener)

    def now(self) -> datetime:
        return self._clock.now()

    def note_change(self) -> None:
        """Count a change of what pages show that no event tells."""
        self.version += 1

    @property
    def ranks_before(self) -> dict[str, RoundRank]:
        """Rank of every player before the latest round that has a result."""
        done = self._league_state.rounds_completed
        rounds = self._league_state.schedule.rounds
        in_play = done < len(rounds) and any(p.match_id in self._league_state.results for p in rounds[done].pairings)
        last = done if in_play else done - 1
        return self.ranks_by_round[last - 1].to_dict() if 0 < last <= len(self.ranks_by_round) else {}

    def seconds_left(self) -> float | None:
        """Estimate the remaining seconds at the pace so far; None if there is no basis for it."""
        since, already = self._pace_start
        season = self._league_state
        done, left = season.matches_played - already, season.matches_planned - season.matches_played
        if season.phase is not LeaguePhase.RUNNING or season.is_paused or done < MIN_RESULTS_FOR_ESTIMATE or not left:
            return None
        if not season.format.is_fixed or season.times.plan.round_times:
            return None  # more matches are to be paired, or rounds wait for their times
        return (self._clock.now() - since).total_seconds() / done * left

    def _handle_event(self, event: Event) -> None:
        self._note(event)
        for listener in self._listeners:
            listener(event)

    def _note(self, event: Event) -> None:
        self.version += 1
        now = self._clock.now()
        self._note_round_time(now, event)
        match event:
            case MatchAssigned():
                return
            case CommandCarriedOut() if not event.is_correction:
                return  # told by an event of its own
            case CommandCarriedOut() | MatchReplaced() | LeagueReopened():
                self._rebuild_from_results()
            case LeagueStarted():
                self.started_at = now
                self._pace_start = (now, 0)
                self._rebuild_from_results()
            case LeagueResumed():
                self._pace_start = (now, len(event.results))
                self._rebuild_from_results()
            case MatchFinished():
                self._add_recent_result(event.result)
                if event.result.round_id <= len(self.ranks_by_round):
                    self._rebuild_from_results()  # of a match that was played again, or corrected
            case RoundCompleted() if event.round_id == len(self.ranks_by_round) + 1:
                self.ranks_by_round.append(RoundRanks(event.standings))
            case LeagueCompleted() if self.started_at:
                self.ended_at = now
            case PauseChanged():
                self._record_pause(now, is_paused=event.is_paused)
            case StoreChanged():
                self.store_problem = "" if event.is_there else str(describe_event(event, {}))
            case _:
                pass
        self._add_news(now, event)

    def _note_round_time(self, now: datetime, event: Event) -> None:
        match event:
            case RoundStarted():
                self.round_times[event.round.round_id] = (now, None)
            case RoundCompleted():
                self.round_times[event.round_id] = (self.round_times.get(event.round_id, (None, None))[0], now)

    def _record_pause(self, now: datetime, *, is_paused: bool) -> None:
        """Exclude the time of a pause from the pace of play."""
        if is_paused:
            self._paused_at = now
        elif self._paused_at is not None:
            since, already = self._pace_start
            self._pace_start = (since + (now - max(since, self._paused_at)), already)
            self._paused_at = None

    def _add_news(self, at: datetime | None, event: Event) -> None:
        self._news_count += 1
        if isinstance(event, RegistrationRefused):
            refused = [news for news in self.news if isinstance(news.event, RegistrationRefused)]
            for news in refused[: max(0, len(refused) + 1 - MOST_REFUSED)]:
                self.news.remove(news)
        self.news.append(NewsItem(self._news_count, at, event))

    def _add_recent_result(self, result: MatchResult) -> None:
        for player_id in result.players:
            latest = self.recent_results.setdefault(player_id, deque(maxlen=FORM_LENGTH))
            for earlier in [one for one in latest if one.match_id == result.match_id]:
                latest.remove(earlier)  # a void result, replaced by the referee's late report
            latest.append(result)

    def _rebuild_from_results(self) -> None:
        """Recompute ranks, recent results and news from the stored results, for a league that was resumed."""
        season = self._league_state
        self.recent_results = {}
        self.ranks_by_round = [*map(RoundRanks, season.iter_standings())]
        for result in season.results.values():
            self._add_recent_result(result)
        if not self.news:
            for result in list(season.results.values())[-MOST_NEWS:]:
                self._add_news(None, MatchFinished(result))


@dataclass(frozen=True, slots=True)
class JoinInstructions:
    """How to register with a league that has not started, and how many agents it waits for."""

    endpoint: str
    """The manager's endpoint."""
    players_needed: int = 0
    """The league starts by itself once this many are registered; 0: only on the organiser's command."""
    referees_needed: int = 0


@dataclass(frozen=True, slots=True)
class BrowserSeatOffer:
    """What a person is told before taking a seat in the browser."""

    fallback: str
    """The strategy that plays when the time is up."""
    takes_a2a: bool = False
    """Whether the owner of an A2A agent can give it a seat there, too."""


class LeagueReader:
    """Everything that pages may read of a league; nothing here changes it."""

    def __init__(
        self,
        season: LeagueState,
        home: Path,
        chronicle: LeagueHistory,
        *,
        meter: AgentMetrics | None = None,
        invitation: JoinInstructions | None = None,
        seats: BrowserSeatOffer | None = None,
        paths: DataPaths | None = None,
        wait_until_saved: Callable[[], Awaitable[None]] | None = None,
        live_positions: LivePositions | None = None,
    ) -> None:
        """Give what a running manager has; a league read from the store has no `meter`, `seats`, `live_positions`, ...

        `wait_until_saved` waits until all that can be read at the moment is in the store.
        """
        self.state = season
        self.home = home
        self.paths = paths or DataPaths(home)
        self.history = chronicle
        self.queries = LeagueQueries(season)
        self.meter = meter
        self.join_instructions = invitation
        self.seat_offer = seats
        self._wait_until_saved = wait_until_saved or _do_nothing
        self.live_positions = live_positions
        self.ratings = LeagueRatings(season.unmasked, chronicle.note_change)
        self.rating_history = RatingHistory()

    def seen_by(self, viewer: Viewer) -> "LeagueReader":
        """Return a reader of the same league as a viewer may see it; it shares the history and the ratings."""
        other = copy(self)
        other.state = mask_state(self.state.unmasked, viewer)
        other.queries = LeagueQueries(other.state)
        return other

    async def wait_until_saved(self) -> None:
        """Wait until all that can be read at the moment is in the store, unless that hangs or fails for now.

        What was shown must not be undone if the server is lost. Raises RequestRejected if it can't be saved any more.
        """
        try:
            async with asyncio.timeout(SAVED_SECONDS):
                await self._wait_until_saved()
        except TimeoutError:
            return  # a store that hangs
        except Refusal:
            raise RequestRejected(503, "This league has stopped here; try again in a moment.") from None

    @property
    def title(self) -> str:
        return self.state.config.display_name or self.state.league_id

    @property
    def current_round(self) -> int:
        """The latest round that has begun; after a restart it may not have been announced again yet."""
        season, rounds = self.state, self.state.schedule.rounds
        current = season.current_round
        if current == season.rounds_completed:
            given = (
                any(pairing.match_id in season.assigned_referees for pairing in each.pairings)
                for each in rounds[current:]
            )
            current += sum(1 for _ in takewhile(bool, given))
        return current

    def round_status(self, round_id: int) -> str:
        """COMPLETED, RUNNING or PENDING."""
        is_open = self.state.rounds_completed < round_id <= self.current_round
        return "RUNNING" if is_open else self.queries.get_round_status(round_id)

    @property
    def missing_agents(self) -> str:
        """The agents that the automatic start still waits for, in words; empty if none, or without automatic start."""
        if self.join_instructions is None or not self.join_instructions.players_needed:
            return ""
        wanted, roster = self.join_instructions, self.state.roster
        lacking = {
            "player": wanted.players_needed - self.state.eligible_player_count,
            "referee": wanted.referees_needed - len(roster.referees()),
        }
        return " and ".join(f"{n} more {who}{'' if n == 1 else 's'}" for who, n in lacking.items() if n > 0)

    def rate_players(self) -> "RatingReport | None":
        """Rate the players by the results of completed rounds; None before the first. See `LeagueRatings`."""
        return self.ratings.get_report()

    @property
    def player_names(self) -> dict[str, str]:
        """Player id -> display name."""
        return {player_id: player.display_name for player_id, player in self.state.roster.players().items()}

    @property
    def telling_ends(self) -> Mapping[str, int]:
        """Display name -> where it begins to differ from another one that begins like it; others are left out."""
        return find_telling_ends(tuple(self.player_names.values()))

    @property
    def looks(self) -> Mapping[str, PlayerLook]:
        """Display name -> the look that the player has told; others are left out."""
        players = self.state.roster.players().values()
        return {player.display_name: player.look for player in players if player.look != NO_LOOK}


def read_saved_league(
    saved: SavedSeason,
    system: SystemConfig,
    home: Path,
    paths: DataPaths | None = None,
    viewer: Viewer = ORGANISER,
) -> LeagueReader:
    """Read a stored league as a viewer may see it; changes made to its state afterwards are not saved.

    `paths` are those of its files.
    """
    with translate_damage(saved.season.league_id):
        league = LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))
        season = LeagueState(league, system, saved.season, save_row=lambda _: None)
        season.restore_rows(saved)
    if season.ladder:
        make_ladder_report(season.ladder, league.game_type)  # its table is ranked by ratings, which aren't stored
    shown = mask_state(season, viewer)
    return LeagueReader(shown, home, LeagueHistory(shown), paths=paths)


async def _do_nothing() -> None:
    """What is read from the store is saved."""
