"""What a strategy learns, stored from one league to the next.

Ids differ from league to league, so the file is named after the player's display name and the strategy. Errors in here
are logged and lose what was learned; they never stop the player.
"""

import hashlib
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_league.log import JsonLogger
from agent_league.players.observation import GameRecord, Strategy
from agent_league.storage.files import ThrottledWriter, encode_json, read_json_object, write_atomically
from agent_league.storage.paths import DataPaths

SAVE_INTERVAL_SECONDS = 2.0
MAX_FILE_BYTES = 8 * 1024**2
UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9]+")


class LearningStore:
    """Calls a strategy's `learn`, `saved` and `restore` if it has them; without `persist`, only `learn`."""

    def __init__(
        self, strategy: Strategy, display_name: str, home: Path, log: JsonLogger, *, persist: bool = True
    ) -> None:
        self._strategy = strategy
        self._is_persistent = persist
        self._log = log
        kind = type(strategy)
        self._owner_fields = {"display_name": display_name, "strategy": f"{kind.__module__}.{kind.__qualname__}"}
        self.path = DataPaths(home).learned_folder / f"{_file_name(display_name, self._owner_fields['strategy'])}.json"
        self._projection = ThrottledWriter(self._save_file, log, SAVE_INTERVAL_SECONDS)

    def restore_strategy(self) -> None:
        """Restore what the strategy learned in earlier leagues; a file it can't read is renamed to `.damaged.json`."""
        restore = getattr(self._strategy, "restore", None)
        try:
            if restore is None or not self._is_persistent or not self.path.exists():
                return
            if self._restore_from_file(restore):
                self._log.info("learning_restored", file=self.path.name)
                return
            aside = self.path.with_suffix(".damaged.json")
            self.path.replace(aside)
            self._log.error("learning_put_aside", file=self.path.name, now=aside.name)
        except OSError as error:
            self._log.error("read_failed", file=self.path.name, error=str(error))

    def learn_from_game(self, game: GameRecord) -> None:
        """Pass a finished match to the strategy's `learn`, and schedule a save."""
        learn = getattr(self._strategy, "learn", None)
        if (
            learn is not None
            and self._call_hook(learn, game)
            and self._is_persistent
            and hasattr(self._strategy, "saved")
        ):
            self._projection.schedule_write()

    def close(self) -> None:
        self._projection.flush()

    def _restore_from_file(self, restore: Callable[[Any], None]) -> bool:
        """Restore the strategy from the file; False if the file isn't this player's, or the strategy raises."""
        content = (read_json_object(self.path) or {}) if self.path.stat().st_size <= MAX_FILE_BYTES else {}
        ours = self._owner_fields.items() <= content.items() and "learned" in content
        return ours and self._call_hook(restore, content["learned"])

    def _call_hook(self, hook: Callable[[Any], None], value: Any) -> bool:
        try:
            hook(value)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a strategy that raises must not stop the player
            self._log_failure(error)
            return False
        return True

    def _save_file(self) -> None:
        try:
            content = encode_json({**self._owner_fields, "learned": self._strategy.saved()})  # type: ignore[attr-defined]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            self._log_failure(error)
            return
        if len(content) > MAX_FILE_BYTES:
            self._log.error("learning_too_large", file=self.path.name, bytes=len(content), most=MAX_FILE_BYTES)
            return
        write_atomically(self.path, content)

    def _log_failure(self, error: BaseException) -> None:
        self._log.error("strategy_failed", error=repr(error), traceback=traceback.format_exc())


def _file_name(display_name: str, strategy: str) -> str:
    """A readable file name with a hash that makes it unique."""
    digest = hashlib.sha256(f"{display_name}\n{strategy}".encode()).hexdigest()
    readable = UNSAFE_CHARACTERS.sub("-", f"{display_name} {strategy.rpartition('.')[2]}").strip("-").lower()
    return f"{readable[:60]}-{digest[:12]}"
