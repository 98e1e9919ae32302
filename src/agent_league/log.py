"""JSON lines: one event a line, at the seeds' paths, never a token.

`JsonLogger` keeps the interface of seed 000. A file is opened at the first line and kept open. An event is written at
once; what comes by the thousand (messages, decisions) is kept for a moment and written together. A file that has grown
to its bound is renamed, and the oldest of those goes.
"""

import errno
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from agent_league.clock import format_second

if TYPE_CHECKING:
    import asyncio

LEVELS = {"DEBUG": 10, "INFO": 20, "WARN": 30, "WARNING": 30, "ERROR": 40}
SENT, RECEIVED, UNANSWERED = "message_sent", "message_received", "message_unanswered"
MESSAGE_EVENTS = (SENT, RECEIVED, UNANSWERED)
SECRET_FIELDS = frozenset({"auth_token", "match_token", "admin_token", "application_key", "match_key", "token"})
REDACTED = "[redacted]"
KEPT_SECRETS = 4
TOKEN = re.compile(r"tok-[\w-]{8,}", re.ASCII)
SIGNED = "eyJ"
"""How every signed token begins; it has three parts with dots between."""
SUSPICIOUS = re.compile(r"tok-|eyJ|token\"|_key\"|\\")
"""Where this isn't in a line of JSON, no token is, nor the name of a field for one, nor anything in disguise."""
RUN = re.compile(r"[\w.-]+", re.ASCII)
REDACTED_BYTES = REDACTED.encode()
PLAIN_BYTES = bytes(range(0x20, 0x7F)).replace(b"\\", b"")
"""What stands in a line of JSON as it is; in JSON with an escape, a token's end can't be seen by its quote."""
ESCAPED_LETTER = re.compile(r"\\u00([2-7][0-9a-fA-F])")
SECRET_IN_TEXT = re.compile(r"""((?:token|application_key|match_key)[\\"']*\s*[:=]\s*)(?:\\*["'][^"']*|[^\s,}&]+)""")
WAITING_SECONDS = 0.5
"""How long a line that need not be written at once may wait for others."""
WAITING_BYTES = 64 * 1024
MAX_FILE_BYTES = 32 * 1024 * 1024
OLD_FILES = 3
"""Files kept beside the one that is written to: `P01.log.jsonl.1` is the newest of them."""


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


def redact_json(document: bytes, secrets: Sequence[bytes] = ()) -> bytes | None:
    """A JSON document as one printable line without tokens; None if it can't be read as JSON.

    A document of ours is not parsed: that it holds nothing but tokens in their usual field can be seen in its bytes.
    The caller vouches that it is JSON.
    """
    odd = document.translate(None, PLAIN_BYTES)
    if not odd or (b"\\" not in odd and document.decode(errors="replace").isprintable()):
        plain = _without_token_fields(document) if b'token"' in document else document
        if plain is not None and b"tok-" not in plain and b"eyJ" not in plain and b'_key"' not in plain:
            for secret in secrets:
                if secret in plain:
                    break
            else:
                return plain
    try:
        hidden = [secret.decode() for secret in secrets]
        return json.dumps(redacted(orjson.loads(document), hidden), separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return None


def _without_token_fields(document: bytes) -> bytes | None:
    """The document with the string in each `...token` struck out; None if one holds something else, or may."""
    tokens = document.count(b'token"')
    start = 0
    for _ in range(tokens):
        start = document.find(b'token"', start) + len(b'token"')
        if document[start : start + 2] == b':"':
            start += 2
            end = document.find(b'"', start)
            document = b"%b%b%b" % (document[:start], REDACTED_BYTES, document[end:])
        elif document[start : start + 5] != b":null":
            return None
    return document


def redact_text(text: str, secrets: Sequence[bytes] = (), *, is_cut: bool = False) -> str:
    """A text without tokens; of one that was cut, without its last word, which may be the beginning of one."""
    text = ESCAPED_LETTER.sub(lambda found: chr(int(found[1], 16)), text)
    if is_cut:
        text = text[: max(text.rfind('"'), text.rfind(" "), 0)]
    text = SECRET_IN_TEXT.sub(rf'\1"{REDACTED}', text)
    return str(redacted(text, [secret.decode() for secret in secrets]))


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
        max_bytes: int = MAX_FILE_BYTES,
        old_files: int = OLD_FILES,
    ) -> None:
        """A file of more than `max_bytes` is renamed, and `old_files` of such are kept."""
        self.component = component
        self.log_root = Path(log_root)
        self._folder = folder or (f"league/{league_id}" if league_id else "agents")
        self._threshold = LEVELS[level]
        self._max_bytes = max_bytes
        self._old_files = old_files
        self._file: FileIO | None = None
        self._size = 0
        self._closed = False
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._before_close: list[Callable[[], None]] = []
        self.secrets: tuple[bytes, ...] = ()
        """What is struck out beside tokens of a form that we know."""

    @property
    def log_file(self) -> Path:
        return self.log_root / self._folder / f"{self.component}.log.jsonl"

    def rename(self, component: str) -> None:
        """Goes on under another name: an agent learns its id only when it has registered."""
        if component != self.component:
            self.flush()
            self._let_go()
            self.component = component

    def conceal(self, secret: str) -> None:
        """From here on this is struck out too, as the tokens before it."""
        self.secrets = (*self.secrets, secret.encode())[-KEPT_SECRETS:]

    def enabled(self, level: str) -> bool:
        return LEVELS[level] >= self._threshold

    def log(self, event_type: str, level: str = "INFO", **details: Any) -> None:
        if self.enabled(level):
            self._keep(self._encode(event_type, level, details))
            self.flush()

    def log_soon(self, event_type: str, level: str = "INFO", **details: Any) -> None:
        """As `log`, for what happens often: the line may wait half a second for others."""
        if self.enabled(level):
            self.write_soon(self._encode(event_type, level, details))

    def write_soon(self, line: bytes) -> None:
        """Writes a line that is encoded and redacted already, with its line break, together with others."""
        self._keep(line)
        if self._waiting_bytes >= WAITING_BYTES or self._closed:
            self.flush()
        elif self._timer is None:
            import asyncio  # noqa: PLC0415 - commands that only look at logs start without it

            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:  # nobody would come back to it
                self.flush()
            else:
                self._timer = loop.call_later(WAITING_SECONDS, self.flush)

    def _encode(self, event_type: str, level: str, details: Mapping[str, Any]) -> bytes:
        second, microsecond = divmod(time.time_ns() // 1000, 1_000_000)
        entry = {
            "timestamp": format_second(second),
            "component": self.component,
            "event_type": event_type,
            "level": level,
            "microsecond": microsecond,  # the seeds' timestamp ends with the second; agents' lines need an order
            **details,
        }
        return _written(entry, [secret.decode() for secret in self.secrets]).encode() + b"\n"

    def _keep(self, line: bytes) -> None:
        self._waiting.append(line)
        self._waiting_bytes += len(line)

    def flush(self) -> None:
        """Writes what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        data = b"".join(waiting)
        if not data:
            return
        try:
            if self._file is not None and self._size + len(data) > self._max_bytes and self._size:
                self._rotate()
            if self._file is None:
                self.log_file.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.log_file.open("ab", buffering=0)
                self._size = os.fstat(self._file.fileno()).st_size
            self._size += len(data)
            if self._file.write(data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._closed:
                self._let_go()
        except OSError as error:  # a full disk must not end a match
            sys.stderr.write(f"log {self.log_file}: {error}\n")

    def _rotate(self) -> None:
        """Puts the file aside, unless another process that writes to it has done so."""
        ours = os.fstat(self._file.fileno()) if self._file else None
        self._let_go()
        with suppress(FileNotFoundError):
            if ours is None or not os.path.samestat(ours, self.log_file.stat()):
                return
            names = [self.log_file, *(Path(f"{self.log_file}.{number}") for number in range(1, self._old_files + 1))]
            for older, newer in reversed(list(zip(names[1:], names, strict=False))):
                with suppress(FileNotFoundError):
                    newer.replace(older)
            if not self._old_files:
                self.log_file.unlink()

    def debug(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "DEBUG", **details)

    def info(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "INFO", **details)

    def warning(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "WARNING", **details)

    def error(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "ERROR", **details)

    def before_close(self, write: Callable[[], None]) -> None:
        """Has `write` called before the file is closed, for those who count and tell later."""
        self._before_close.append(write)

    def close(self) -> None:
        """Keeps no file open from here on; a line that comes late is still written."""
        for write in self._before_close:
            write()
        self._closed = True
        self.flush()
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
