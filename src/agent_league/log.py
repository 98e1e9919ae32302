"""JSON lines: one event a line, at the seeds' paths, never a token.

`JsonLogger` keeps the interface of seed 000. A file is opened at the first line and kept open; each line is written
whole and at once.
"""

import errno
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, ClassVar

import orjson

from agent_league.clock import format_utc

LEVELS = {"DEBUG": 10, "INFO": 20, "WARN": 30, "WARNING": 30, "ERROR": 40}
SECRET_FIELDS = frozenset({"auth_token", "match_token", "admin_token", "application_key", "match_key", "token"})
REDACTED = "[redacted]"
KEPT_SECRETS = 4
TOKEN = re.compile(r"tok-[\w-]{8,}", re.ASCII)
SIGNED = "eyJ"
"""How every signed token begins; it has three parts with dots between."""
SUSPICIOUS = re.compile(r"tok-|eyJ|token\"|_key\"|\\")
"""Where this isn't in a line of JSON, no token is, nor the name of a field for one, nor anything in disguise."""
RUN = re.compile(r"[\w.-]+", re.ASCII)


def redacted(value: Any, secrets: Sequence[str] = ()) -> Any:
    """The same data with tokens struck out: by the name of their field, and wherever else one stands.

    A token is known by its form; `secrets` are others that have none of ours.
    """
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REDACTED)
        return _without_tokens(value)
    if isinstance(value, dict):
        return {
            redacted(key, secrets): REDACTED if key in SECRET_FIELDS and inner is not None else redacted(inner, secrets)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redacted(inner, secrets) for inner in value]
    return value


def _without_tokens(text: str) -> str:
    if "tok-" in text:
        text = TOKEN.sub(REDACTED, text)
    return RUN.sub(_without_signed, text) if SIGNED in text else text


def _without_signed(run: re.Match[str]) -> str:
    """A run of a token's letters up to where a token begins; in this way a long text is read once only."""
    text = run[0]
    start = text.find(SIGNED)
    return text if start < 0 or text.count(".", start) < 2 else text[:start] + REDACTED


def _written(entry: Mapping[str, Any], secrets: Sequence[str]) -> str:
    """One line that a terminal may be shown, without tokens.

    Nearly every line is plain and holds nothing that looks like one: that can be seen in the line itself.
    """
    try:
        line = orjson.dumps(entry, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # more than orjson can write: an integer beyond 64 bits, half a surrogate pair
        return json.dumps(redacted(json.loads(json.dumps(entry, default=str)), secrets))
    if line.isprintable() and not SUSPICIOUS.search(line) and not any(secret in line for secret in secrets):
        return line
    return json.dumps(redacted(orjson.loads(line), secrets))


class JsonLogger:
    """Writes the events of one component to `<log_root>/<folder>/<component>.log.jsonl`."""

    LEVELS: ClassVar = ["DEBUG", "INFO", "WARN", "ERROR"]
    """From the least important to the most; WARNING is another word for WARN."""

    def __init__(
        self,
        component: str,
        league_id: str | None = None,
        log_root: Path | str = Path("SHARED/logs"),
        *,
        level: str = "INFO",
        folder: str | None = None,
    ) -> None:
        self.component = component
        self.log_root = Path(log_root)
        self._folder = folder or (f"league/{league_id}" if league_id else "agents")
        self._threshold = LEVELS[level]
        self._file: FileIO | None = None
        self._closed = False
        self._secrets: tuple[str, ...] = ()

    @property
    def log_file(self) -> Path:
        return self.log_root / self._folder / f"{self.component}.log.jsonl"

    def rename(self, component: str) -> None:
        """Goes on under another name: an agent learns its id only when it has registered."""
        if component != self.component:
            self._let_go()
            self.component = component

    def conceal(self, secret: str) -> None:
        """From here on this is struck out too, as the tokens before it."""
        self._secrets = (*self._secrets, secret)[-KEPT_SECRETS:]

    def enabled(self, level: str) -> bool:
        return LEVELS[level] >= self._threshold

    def log(self, event_type: str, level: str = "INFO", **details: Any) -> None:
        if not self.enabled(level):
            return
        now = datetime.now(UTC)
        entry = {
            "timestamp": format_utc(now),
            "component": self.component,
            "event_type": event_type,
            "level": level,
            "microsecond": now.microsecond,  # the seeds' timestamp ends with the second; agents' lines need an order
            **details,
        }
        line = _written(entry, self._secrets)
        try:
            if self._file is None:
                self.log_file.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.log_file.open("ab", buffering=0)
            data = line.encode() + b"\n"
            if self._file.write(data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._closed:
                self._let_go()
        except OSError as error:  # a full disk must not end a match
            sys.stderr.write(f"log {self.log_file}: {error}\n")

    def debug(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "DEBUG", **details)

    def info(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "INFO", **details)

    def warning(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "WARNING", **details)

    def error(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "ERROR", **details)

    def close(self) -> None:
        """Keeps no file open from here on; a line that comes late is still written."""
        self._closed = True
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
