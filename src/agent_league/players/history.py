"""A player's memory: its games, its statistics and its opponent models, kept in `history.json`."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_league.log import JsonLogger
from agent_league.players.observation import GameRecord
from agent_league.players.opponents import OpponentModel
from agent_league.storage.files import Projection
from agent_league.storage.repositories import PlayerHistoryRepository

KEPT_GAMES = 10_000
SAVE_INTERVAL_SECONDS = 2.0
TEXTS = ("match_id", "game_type", "opponent_id", "outcome")
MOVES = ("my_moves", "opponent_moves")


class History:
    """What a player remembers; a match is remembered once, however often its result is told."""

    def __init__(self, player_id: str, display_name: str, home: Path, log: JsonLogger) -> None:
        self._display_name = display_name
        self._repository = PlayerHistoryRepository(player_id, home)
        self._projection = Projection(self._save, log, SAVE_INTERVAL_SECONDS)
        self.games: list[GameRecord] = []
        self.opponents: dict[str, OpponentModel] = {}
        self._known: set[tuple[str | None, str]] = set()
        saved = self._repository.load()
        if saved.get("display_name", display_name) != display_name:
            self._repository.put_aside()  # ids are given anew in each league; memories are not
            saved = {}
        for game in _saved_games(saved):
            self._take(game)

    def expect(self, league_id: str | None, match_id: str) -> None:
        """A match is about to be played: what an earlier league under the same ids brought is not its result."""
        self._known.discard((league_id, match_id))

    def remember(self, game: GameRecord) -> bool:
        """Adds a game; False where it is known already."""
        if (game.league_id, game.match_id) in self._known:
            return False
        self._take(game)
        self._projection.changed()
        return True

    def statistics(self) -> dict[str, int]:
        outcomes = Counter(game.outcome for game in self.games)
        return {
            "played": len(self.games),
            "wins": outcomes["WIN"],
            "draws": outcomes["DRAW"],
            "losses": outcomes["LOSS"] + outcomes["TECHNICAL_LOSS"],
            "technical_losses": outcomes["TECHNICAL_LOSS"],
        }

    def content(self) -> dict[str, Any]:
        """What `history.json` holds; the games and models are dataclasses, which the encoder knows."""
        return {
            "display_name": self._display_name,
            "stats": self.statistics(),
            "matches": self.games[-KEPT_GAMES:],
            "opponents": self.opponents,
        }

    def close(self) -> None:
        self._projection.flush()

    def _take(self, game: GameRecord) -> None:
        self._known.add((game.league_id, game.match_id))
        self.games.append(game)
        self.opponents.setdefault(game.opponent_id, OpponentModel()).learn(game)

    def _save(self) -> None:
        self._repository.save(self.content())


def _saved_games(content: Mapping[str, Any]) -> list[GameRecord]:
    """The games in a history file; what somebody has edited beyond recognition is left out."""
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
    if not isinstance(known.get("league_id"), str | None):
        return None
    return GameRecord(**{**known, **{name: tuple(played) for name, played in moves.items()}})
