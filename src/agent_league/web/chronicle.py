"""What became of a season so far, kept while it happens: the table after each round, and the latest news."""

from collections import deque
from dataclasses import dataclass

from agent_league.league.season import Season
from agent_league.league.standings import Table
from agent_league.model.events import Event, LeagueResumed, LeagueStarted, RoundCompleted

MOST_NEWS = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A player's place after a round."""

    rank: int
    points: int


class Chronicle:
    """Listens to a season. `version` grows with everything that happens in it."""

    def __init__(self, season: Season) -> None:
        self._season = season
        self.version = 0
        self.places: list[dict[str, Place]] = []
        """For each completed round, where every player stood after it."""
        self.news: deque[tuple[int, Event]] = deque(maxlen=MOST_NEWS)
        """The latest events with their versions."""
        self._catch_up()
        season.listen(self._note)

    def _note(self, event: Event) -> None:
        self.version += 1
        self.news.append((self.version, event))
        match event:
            case LeagueStarted() | LeagueResumed():
                self._catch_up()
            case RoundCompleted() if event.round_id == len(self.places) + 1:
                self.places.append({row.player_id: Place(row.rank, row.points) for row in event.standings})

    def _catch_up(self) -> None:
        """Plays the finished rounds of a season that was taken up once more."""
        season = self._season
        names = {player_id: player.display_name for player_id, player in season.roster.players().items()}
        table = Table(names, season.scoring, season.league.scoring.tiebreakers)
        self.places = []
        for round_ in season.schedule.rounds[: season.rounds_completed]:
            for result in season.results_of(round_):
                table.record(result)
            self.places.append({row.player_id: Place(row.rank, row.points) for row in table.rows()})
