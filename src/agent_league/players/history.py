"""A player's history: its games, statistics and opponent models, stored in `history.json`.

The file is written now and then; games recorded since are in a journal beside it, one line each, so that a kill loses
nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_league.log import JsonLogger
from agent_league.players.observation import VOID, GameMemory, GameRecord
from agent_league.storage.files import JsonLinesFile, ThrottledWriter
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import PlayerHistoryRepository

MAX_GAMES = 10_000
FORGET_BATCH_SIZE = 1_000
SAVE_INTERVAL_SECONDS = 30.0
SAVE_DELAY_PER_GAME = 0.05
"""Added to the save interval for each game in the file, so that a long history takes no larger share of time."""
TEXT_FIELDS = ("match_id", "game_type", "opponent_id", "outcome")
MOVE_FIELDS = ("my_moves", "opponent_moves")
LeagueKey = tuple[str | None, str | None]
"""Season and league."""
MatchKey = tuple[str | None, str | None, str]
"""Season, league and match."""


@dataclass(slots=True)
class OpponentModel:
    """How often one opponent played each move, and each move after another."""

    games: int = 0
    moves: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    last_move: str | None = None

    def add_game(self, game: GameRecord) -> None:
        self.games += 1
        self.outcomes[game.outcome] += 1
        for move in map(str, game.opponent_moves):
            self.moves[move] += 1
            if self.last_move is not None:
                self.transitions[f"{self.last_move}>{move}"] += 1
            self.last_move = move


class PlayerHistory:
    """The finished games of a player, each match once, however often its result arrives.

    A match that is replayed because its referee was lost before it had reported counts as it ended last; one that is
    declared void later becomes void.
    """

    def __init__(self, player_id: str, display_name: str, home: Path, log: JsonLogger) -> None:
        self.player_id = player_id
        self._display_name = display_name
        self._log = log
        self._repository = PlayerHistoryRepository(player_id, home)
        self._journal = JsonLinesFile(DataPaths(home).history_journal_file(player_id))
        self._projection = ThrottledWriter(self._save_file, log, SAVE_INTERVAL_SECONDS)
        self.games = GameMemory()
        self._current_league: LeagueKey | None = None
        self._current_league_games = GameMemory()
        self.opponents: dict[str, OpponentModel] = {}
        self._games_by_key: dict[MatchKey, GameRecord] = {}
        self._expected_matches: set[MatchKey] = set()
        self._game_count = 0
        self._is_closed = False
        if self._read_owner() not in (None, display_name):
            self._repository.move_aside()  # another player had this id, in another league
        self._load_games(self._repository.load())

    def expect_match(self, season: str | None, league_id: str | None, match_id: str) -> None:
        """Prepare for a match that is about to be played: an earlier result under the same ids may be replaced."""
        key = (season, league_id, match_id)
        if season is None:  # nothing tells a match that is played again from one of another league
            self._games_by_key.pop(key, None)
        elif key in self._games_by_key:
            self._expected_matches.add(key)

    def record_game(self, game: GameRecord) -> bool:
        """Add a game and write it to the journal; False if it is known already."""
        key = _match_key(game)
        is_taken_back = game.outcome == VOID and key in self._games_by_key and self._games_by_key[key].outcome != VOID
        if (
            key in self._games_by_key
            and (key not in self._expected_matches or self._games_by_key[key] == game)
            and not is_taken_back
        ):
            return False
        self._expected_matches.discard(key)
        self._add_game(game)
        try:
            self._journal.append_line({"number": self._game_count, "display_name": self._display_name, "game": game})
        except OSError as error:
            self._log.error("write_failed", error=str(error))
        self._projection.schedule_write(SAVE_INTERVAL_SECONDS + SAVE_DELAY_PER_GAME * len(self.games))
        if self._is_closed:  # a result that was on its way when the player ended
            self.close()
        return True

    def leave_out_match(
        self, games: GameMemory, season: str | None, league_id: str | None, match_id: str
    ) -> GameMemory:
        """Return games without the earlier result of a match that is played again, as if that had never been."""
        earlier = self._games_by_key.get((season, league_id, match_id))
        return GameMemory(game for game in games if game is not earlier) if earlier else games

    def league_games(self, season: str | None, league_id: str | None) -> GameMemory:
        """Return the games of one league; the result for the latest league is cached."""
        if self._current_league != (season, league_id):
            self._current_league = (season, league_id)
            self._current_league_games = GameMemory(
                game for game in self.games if (game.season, game.league_id) == self._current_league
            )
        return self._current_league_games

    def statistics(self) -> dict[str, int]:
        outcomes = Counter(game.outcome for game in self.games)
        return {
            "played": len(self.games) - outcomes[VOID],
            "wins": outcomes["WIN"],
            "draws": outcomes["DRAW"],
            "losses": outcomes["LOSS"] + outcomes["TECHNICAL_LOSS"],
            "technical_losses": outcomes["TECHNICAL_LOSS"],
        }

    def to_json(self, latest: int | None = None) -> dict[str, Any]:
        """The content of `history.json`, with all games or the latest; the JSON encoder takes their dataclasses."""
        return {
            "display_name": self._display_name,
            "total": self._game_count,
            "stats": self.statistics(),
            "matches": self.games[:] if latest is None else self.games[-latest:],
            "opponents": self.opponents,
        }

    def flush(self) -> None:
        """Write the file now if it isn't up to date."""
        self._projection.flush()

    def close(self) -> None:
        self._is_closed = True
        self.flush()
        self._journal.close()

    def _read_owner(self) -> str | None:
        """Return the display name in the stored history; after a kill only the journal may have it."""
        places = (self._repository.load(), *self._journal.read_objects()[:1])
        names = (place.get("display_name") for place in places)
        return next((name for name in names if isinstance(name, str)), None)

    def _load_games(self, saved: Mapping[str, Any]) -> None:
        """Load the games of the file, and those of the journal that were recorded after it was written."""
        games = _parse_games(saved)
        total = saved.get("total")
        self._game_count = total - len(games) if isinstance(total, int) and total >= len(games) else 0
        for game in games:
            self._add_game(game)
        for line in self._journal.read_objects():
            number, game_ = line.get("number"), _parse_game(line.get("game"))
            if isinstance(number, int) and number > self._game_count and game_:
                self._add_game(game_)

    def _add_game(self, game: GameRecord) -> None:
        self._game_count += 1
        key = _match_key(game)
        earlier = self._games_by_key.get(key) if game.season or game.outcome == VOID else None
        self._games_by_key[key] = game
        if earlier:
            self._replace_game(earlier, game)
            return
        self.games.append(game)
        if self._current_league == (game.season, game.league_id):
            self._current_league_games.append(game)
        self._update_opponent_model(game)
        if len(self.games) >= MAX_GAMES + FORGET_BATCH_SIZE:
            for old in self.games[:FORGET_BATCH_SIZE]:
                self._games_by_key.pop(_match_key(old), None)
            self._set_games(self.games[FORGET_BATCH_SIZE:])

    def _set_games(self, games: Iterable[GameRecord]) -> None:
        """Replace all games by these, and drop the cached games of one league."""
        self.games, self._current_league = GameMemory(games), None

    def _replace_game(self, earlier: GameRecord, game: GameRecord) -> None:
        self._set_games(game if one is earlier else one for one in self.games)
        self.opponents.clear()
        for one in self.games:
            self._update_opponent_model(one)

    def _update_opponent_model(self, game: GameRecord) -> None:
        self.opponents.setdefault(game.opponent_id, OpponentModel()).add_game(game)

    def _save_file(self) -> None:
        self._repository.save(self.to_json())
        self._journal.clear()


def _match_key(game: GameRecord) -> MatchKey:
    return (game.season, game.league_id, game.match_id)


def _parse_games(content: Mapping[str, Any]) -> list[GameRecord]:
    """Parse the games of a history file; entries that can't be read are left out."""
    entries = content.get("matches")
    games = (_parse_game(entry) for entry in entries) if isinstance(entries, list) else ()
    return [game for game in games if game is not None]


def _parse_game(entry: Any) -> GameRecord | None:
    if not isinstance(entry, Mapping) or not all(isinstance(entry.get(name), str) for name in TEXT_FIELDS):
        return None
    known = {name: entry[name] for name in GameRecord.__slots__ if name in entry}
    moves = {name: known.get(name, ()) for name in MOVE_FIELDS}
    if not all(isinstance(played, list | tuple) for played in moves.values()):
        return None
    if not all(isinstance(known.get(name), str | None) for name in ("league_id", "season")):
        return None
    return GameRecord(**{**known, **{name: tuple(played) for name, played in moves.items()}})
