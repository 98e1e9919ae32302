"""A player's history: its games, statistics and opponent models, stored in `history.json`.

The file is written now and then; games recorded since are in a journal beside it, one line each, so that a kill loses
nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent_league.log import JsonLogger
from agent_league.players.observation import VOID, GameRecord, Memory
from agent_league.players.opponents import OpponentModel
from agent_league.storage.files import LineFile, Projection
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import PlayerHistoryRepository

KEPT_GAMES = 10_000
FORGOTTEN_AT_ONCE = 1_000
SAVE_INTERVAL_SECONDS = 5.0
SECONDS_PER_GAME = 0.05
"""Added to the save interval for each game in the file, so that a long history takes no larger share of time."""
TEXTS = ("match_id", "game_type", "opponent_id", "outcome")
MOVES = ("my_moves", "opponent_moves")
League = tuple[str | None, str | None]
"""Season and league."""
Key = tuple[str | None, str | None, str]
"""Season, league and match."""


class History:
    """The finished games of a player, each match once, however often its result arrives.

    A match that is replayed because its referee was lost before it had reported counts as it ended last; one that is
    declared void later becomes void.
    """

    def __init__(self, player_id: str, display_name: str, home: Path, log: JsonLogger) -> None:
        self.player_id = player_id
        self._display_name = display_name
        self._log = log
        self._repository = PlayerHistoryRepository(player_id, home)
        self._journal = LineFile(DataPaths(home).history_journal(player_id))
        self._projection = Projection(self._save, log, SAVE_INTERVAL_SECONDS)
        self.games = Memory()
        self._league: League | None = None
        self._of_league = Memory()
        self.opponents: dict[str, OpponentModel] = {}
        self._known: dict[Key, GameRecord] = {}
        self._expected: set[Key] = set()
        self._total = 0
        if self._owner() not in (None, display_name):
            self._repository.put_aside()  # another player had this id, in another league
        self._recall(self._repository.load())

    def expect(self, season: str | None, league_id: str | None, match_id: str) -> None:
        """Prepare for a match that is about to be played: an earlier result under the same ids may be replaced."""
        key = (season, league_id, match_id)
        if season is None:  # nothing tells a match that is played again from one of another league
            self._known.pop(key, None)
        elif key in self._known:
            self._expected.add(key)

    def remember(self, game: GameRecord) -> bool:
        """Add a game and write it to the journal; False if it is known already."""
        key = _key(game)
        is_taken_back = game.outcome == VOID and key in self._known and self._known[key].outcome != VOID
        if key in self._known and (key not in self._expected or self._known[key] == game) and not is_taken_back:
            return False
        self._expected.discard(key)
        self._take(game)
        try:
            self._journal.append({"number": self._total, "display_name": self._display_name, "game": game})
        except OSError as error:
            self._log.error("write_failed", error=str(error))
        self._projection.changed(SAVE_INTERVAL_SECONDS + SECONDS_PER_GAME * len(self.games))
        return True

    def of_league(self, season: str | None, league_id: str | None) -> Memory:
        """Return the games of one league; the result for the latest league is cached."""
        if self._league != (season, league_id):
            self._league = (season, league_id)
            self._of_league = Memory(game for game in self.games if (game.season, game.league_id) == self._league)
        return self._of_league

    def statistics(self) -> dict[str, int]:
        outcomes = Counter(game.outcome for game in self.games)
        return {
            "played": len(self.games) - outcomes[VOID],
            "wins": outcomes["WIN"],
            "draws": outcomes["DRAW"],
            "losses": outcomes["LOSS"] + outcomes["TECHNICAL_LOSS"],
            "technical_losses": outcomes["TECHNICAL_LOSS"],
        }

    def content(self, latest: int | None = None) -> dict[str, Any]:
        """The content of `history.json`, with all games or the latest; the JSON encoder takes their dataclasses."""
        return {
            "display_name": self._display_name,
            "total": self._total,
            "stats": self.statistics(),
            "matches": self.games[:] if latest is None else self.games[-latest:],
            "opponents": self.opponents,
        }

    def flush(self) -> None:
        """Write the file now if it isn't up to date."""
        self._projection.flush()

    def close(self) -> None:
        self.flush()
        self._journal.close()

    def _owner(self) -> str | None:
        """Return the display name in the stored history; after a kill only the journal may have it."""
        places = (self._repository.load(), *self._journal.read()[:1])
        names = (place.get("display_name") for place in places)
        return next((name for name in names if isinstance(name, str)), None)

    def _recall(self, saved: Mapping[str, Any]) -> None:
        """Load the games of the file, and those of the journal that were recorded after it was written."""
        games = _saved_games(saved)
        total = saved.get("total")
        self._total = total - len(games) if isinstance(total, int) and total >= len(games) else 0
        for game in games:
            self._take(game)
        for line in self._journal.read():
            number, game_ = line.get("number"), _read(line.get("game"))
            if isinstance(number, int) and number > self._total and game_:
                self._take(game_)

    def _take(self, game: GameRecord) -> None:
        self._total += 1
        key = _key(game)
        earlier = self._known.get(key) if game.season or game.outcome == VOID else None
        self._known[key] = game
        if earlier:
            self._replace(earlier, game)
            return
        self.games.append(game)
        if self._league == (game.season, game.league_id):
            self._of_league.append(game)
        self._learn(game)
        if len(self.games) >= KEPT_GAMES + FORGOTTEN_AT_ONCE:
            for old in self.games[:FORGOTTEN_AT_ONCE]:
                self._known.pop(_key(old), None)
            self._keep(self.games[FORGOTTEN_AT_ONCE:])

    def _keep(self, games: Iterable[GameRecord]) -> None:
        """Replace all games by these, and drop the cached games of one league."""
        self.games, self._league = Memory(games), None

    def _replace(self, earlier: GameRecord, game: GameRecord) -> None:
        self._keep(game if one is earlier else one for one in self.games)
        self.opponents.clear()
        for one in self.games:
            self._learn(one)

    def _learn(self, game: GameRecord) -> None:
        self.opponents.setdefault(game.opponent_id, OpponentModel()).learn(game)

    def _save(self) -> None:
        self._repository.save(self.content())
        self._journal.clear()


def _key(game: GameRecord) -> Key:
    return (game.season, game.league_id, game.match_id)


def _saved_games(content: Mapping[str, Any]) -> list[GameRecord]:
    """Parse the games of a history file; entries that can't be read are left out."""
    entries = content.get("matches")
    games = (_read(entry) for entry in entries) if isinstance(entries, list) else ()
    return [game for game in games if game is not None]


def _read(entry: Any) -> GameRecord | None:
    if not isinstance(entry, Mapping) or not all(isinstance(entry.get(name), str) for name in TEXTS):
        return None
    known = {name: entry[name] for name in GameRecord.__slots__ if name in entry}
    moves = {name: known.get(name, ()) for name in MOVES}
    if not all(isinstance(played, list | tuple) for played in moves.values()):
        return None
    if not all(isinstance(known.get(name), str | None) for name in ("league_id", "season")):
        return None
    return GameRecord(**{**known, **{name: tuple(played) for name, played in moves.items()}})
