"""Text that others wrote, made safe to show, send or log: printable, shortened, quoted, redacted.

The only module that cuts such text or escapes what is unprintable in it. `shorten` and `quote` serve sentences,
`to_printable` terminals and pages, `quote_data` language models, and the `redact_` functions take out tokens, sign-up
keys and network addresses. Escaping for HTML is left to the templates.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import combining

import orjson

MAX_WORD = 80
"""Characters of a name, an id or a value within a sentence."""
MAX_PHRASE = 300
"""Characters of what may explain itself within a sentence, such as an error of somebody's code or a position."""
MAX_SENTENCE = 500
"""Characters of a sentence, such as an agent's reason or an error message."""
MAX_QUOTE = 40_000
"""Characters of data that are quoted for a language model."""
MAX_TEXT_LENGTH = 200
"""Characters of each text within quoted data."""
MAX_ITEMS = 60
MAX_NESTING = 12
MAX_LOGGED_BYTES = 1000
"""Bytes that are logged of a message that is too long for its line, or isn't JSON."""
ELLIPSIS = "..."
MIN_PARTED = 16
"""Characters that a name has at least if it is parted where it differs from others."""
MIN_SHARED = 8
"""Characters that it has in common with another one at least."""

SECRET_FIELDS = frozenset({"auth_token", "match_token", "admin_token", "application_key", "match_key", "token"})
REDACTED = "[redacted]"
SIGNED_TOKEN_PREFIX = "eyJ"  # noqa: S105 - no password
"""How every signed token (a JWT) begins; it has three parts with dots between."""
_TOKEN_PATTERN = re.compile(r"tok-[\w-]{8,}", re.ASCII | re.IGNORECASE)
KEY_PREFIX = "key-"
"""How every key that stands in an address begins: of a team's sign-up, of an organiser's link."""
REDACTED_KEY = "[key]"
_KEY_PATTERN = re.compile(
    r"((?:/|%2f)join(?:/|%2f))(?!\[key\])[^\s/?#\"'<>\\%&]+|(?<![a-z0-9])key-[a-z2-7]{16,}", re.ASCII | re.IGNORECASE
)
"""Whatever stands in the place of a key in a sign-up address, and a key wherever it stands."""
_KEY_SIGN_BYTES = (b"key-", b"join/", b"join%2f")
_TOKEN_CHARACTERS = re.compile(r"[\w.-]+", re.ASCII)
_TOKEN_FIELD = b'token":"'
_TOKENLESS_FIELDS = (b'token":null', b'token_sha256":"')
"""Fields that hold no token, whatever follows."""
_PRINTABLE_BYTES = bytes(range(0x20, 0x7F))
_LOWERED_BYTES = bytes(range(256)).lower()
_UNSIGNED_BYTES = bytes(sorted({*range(256)} - {*b'tokenTOKENyjiYJI"-/%'}))
"""Characters of which no sign of a token or key consists."""
_ESCAPED_TOKEN_SIGNS = (b"\\u", b"\\/", b'token\\"')
"""Escapes in JSON that may hide a token or the name of its field from a search in the bytes."""
_ESCAPED_LETTER = re.compile(r"\\u00([2-7][0-9a-fA-F])")
_SECRET_IN_TEXT = re.compile(
    r"""((?:token|application_key|match_key)[\\"']*\s*[:=]\s*)(?:\\*["'][^"']*|[^\s,}&]+)""", re.IGNORECASE
)
_ADDRESS_PATTERN = re.compile(
    r"""
      (?<![\w+.-])[a-z][a-z0-9+.-]{1,12}+://[^\s'"\\<>]*[^\s'"\\<>:;,.)\]]    # with a scheme
    | (?<![\w.-])(?:localhost|(?:[\w-]{1,63}+\.){1,8}[a-z][a-z0-9-]{1,62}+):\d{1,5}\b
    | (?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])(?::\d{1,5}\b)?
    | (?<=\bhost\ )\S{1,255}:\d{1,5}                  # a name without a dot, as HTTP clients tell it
    | \('[^']{0,255}',\ \d{1,5}(?:,\ \d+){0,2}\)      # a socket's: ('127.0.0.1', 8101)
    | \[[0-9a-f]{0,4}:[0-9a-f]{0,4}:[0-9a-f:.]{0,40}(?:%\w{1,20})?\](?::\d{1,5})?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
"""Each alternative begins at a word boundary, so that a long text is scanned once."""

_DISCORD_MARKUP = re.compile(r"[\\*_~`|<>\[\]()#:-]|(?<=\d)\.(?= )")
"""What Discord formats; `1. ` begins a list whose numbers it counts by itself."""
_EMOJI_RANGES = "\u00a9\u00ae\u203c\u2049\u2100-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
EMOJI_JOINERS = re.compile(
    f"(?<=[{_EMOJI_RANGES}#*0-9])[\ufe0e\ufe0f]|(?<=[{_EMOJI_RANGES}\ufe0f])\u200d(?=[{_EMOJI_RANGES}])"
)
"""Invisible characters that belong to an emoji: variation selectors and joiners."""
_MARKUP_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def shorten(value: object, longest: int = MAX_WORD) -> str:
    """Return a value's text, cut to `longest` characters; the last of them are dots if something is missing."""
    text = str(value)
    return text if len(text) <= longest else f"{text[: longest - len(ELLIPSIS)]}{ELLIPSIS}"


def shorten_apart(names: Sequence[str], longest: int) -> list[str]:
    """Cut names to `longest` characters so that different ones stay different.

    As little as possible of their ends is kept behind the dots; where that doesn't tell them apart, a number is.
    """
    for tail in range(longest - len(ELLIPSIS)):
        head = longest - len(ELLIPSIS) - tail
        cut = [name if len(name) <= longest else f"{name[:head]}{ELLIPSIS}{name[len(name) - tail :]}" for name in names]
        if len(set(cut)) == len(set(names)):
            return cut
    marks = {name: f"{ELLIPSIS}{number}" for number, name in enumerate(dict.fromkeys(names), 1)}
    return [name if len(name) <= longest else f"{name[: longest - len(marks[name])]}{marks[name]}" for name in names]


@lru_cache(maxsize=32)
def find_telling_ends(names: tuple[str, ...]) -> Mapping[str, int]:
    """Find where each long name begins to differ from those that begin like it: name -> place of the telling word.

    Whoever has no room for the whole name can cut it before that place. Names that are short, or differ early, are
    left out.
    """
    ordered = sorted(set(names))
    alike = [_count_shared(*pair) for pair in pairwise(ordered)]
    places = {
        name: _find_telling_place(name, max(before, after))
        for name, before, after in zip(ordered, [0, *alike], [*alike, 0], strict=False)
    }
    return {name: place for name, place in places.items() if place >= MIN_SHARED and len(name) >= MIN_PARTED}


def _count_shared(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _find_telling_place(name: str, shared: int) -> int:
    """Return where the word begins in which a name differs; within a word that is long itself, where it differs."""
    place = min(shared, len(name) - 1)
    word = next((at for at in range(place, 0, -1) if not name[at - 1].isalnum()), 0)
    while place and (combining(name[place]) or not name[place].isprintable()):
        place -= 1  # a letter and its accents stay together
    return word if place - word < MIN_SHARED else place


def quote(value: object, longest: int = MAX_WORD) -> str:
    """Quote a value as Python writes it, shortened: printable, and plainly somebody else's."""
    return repr(shorten(value, longest)) if isinstance(value, str) else shorten(repr(value), longest)


def capitalise(sentence: str) -> str:
    """Return a sentence with its first letter in upper case and the others as they are."""
    return sentence[:1].upper() + sentence[1:]


def to_printable(text: str, longest: int | None = None) -> str:
    """Escape control and other unprintable characters, for a terminal or a page; shorten to `longest` characters."""
    if longest is not None:
        return shorten(to_printable(text[: longest + 1]), longest)
    if text.isprintable():
        return text
    joints = {found.start() for found in EMOJI_JOINERS.finditer(text)}
    return "".join(
        letter if letter.isprintable() or at in joints else ascii(letter)[1:-1] for at, letter in enumerate(text)
    )


def format_move(move: Any, longest: int | None = None) -> str:
    """Write a move, or another JSON value, for people: text as it is, anything else as JSON; printable."""
    try:
        text = move if isinstance(move, str) else json.dumps(move, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):  # a database may hold what is no JSON
        text = repr(move)
    return to_printable(text, longest)


def shorten_json(value: Any, depth: int = MAX_NESTING, longest: int = MAX_TEXT_LENGTH) -> Any:
    """Cut long texts and lists and deep nesting in JSON data."""
    if isinstance(value, str):
        return shorten(value.encode(errors="replace").decode(), longest)  # orjson refuses lone surrogates
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        return ELLIPSIS
    more = len(value) - MAX_ITEMS
    if isinstance(value, dict):
        items = list(value.items())[:MAX_ITEMS]
        short = {shorten_json(str(key)): shorten_json(inner, depth - 1, longest) for key, inner in items}
        return short if more <= 0 else {**short, ELLIPSIS: f"{more} more"}
    short_items = [shorten_json(inner, depth - 1, longest) for inner in value[:MAX_ITEMS]]
    return short_items if more <= 0 else [*short_items, f"{ELLIPSIS} {more} more"]


def quote_data(label: str, data: Any, longest: int = MAX_TEXT_LENGTH) -> str:
    """Quote data for a language model between `<league-data>` marks; `label` must be a trusted word.

    The data is JSON in which `<`, `>` and `&` are escaped, so that nothing in it can look like the closing mark.
    """
    short = shorten_json(redact_tokens(data), longest=longest)
    text = orjson.dumps(short, default=str, option=orjson.OPT_NON_STR_KEYS).decode().translate(_MARKUP_ESCAPES)
    if len(text) > MAX_QUOTE:
        text = f"{text[:MAX_QUOTE]} {ELLIPSIS} (cut here, {len(text)} characters in all)"
    return f'<league-data source="{label}">\n{text}\n</league-data>'


def escape_for_slack(text: str) -> str:
    """Escape text for a message to Slack, where `<` begins mentions and links."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_for_discord(text: str) -> str:
    """Escape text for a message to Discord: no markup, no link behind other words, and nobody is mentioned."""
    return _DISCORD_MARKUP.sub(r"\\\g<0>", text).replace("@", "@\u200b")


def redact_addresses(text: str) -> str:
    """Replace every network address by the words `its address`, as nothing public may tell where an agent listens."""
    return _ADDRESS_PATTERN.sub("its address", text)


def redact_tokens(value: Any, secrets: Sequence[str] = ()) -> Any:
    """Return a copy of JSON data with `REDACTED` in place of every token, by field name and by form.

    `secrets` are further strings to redact, such as tokens that another manager gave in a form of its own.
    """
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REDACTED)
        return _redact_tokens_in_text(value)
    if isinstance(value, dict):
        return {
            redact_tokens(key, secrets): REDACTED
            if inner is not None and is_secret_field(key)
            else redact_tokens(inner, secrets)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_tokens(inner, secrets) for inner in value]
    return value


def is_secret_field(field: Any) -> bool:
    """Whether a field of this name holds a token or a key, in upper or lower case."""
    name = field.lower() if isinstance(field, str) else ""
    return name.endswith("token") or name.replace("-", "_") in SECRET_FIELDS


def redact_keys(text: str) -> str:
    """Replace the keys of sign-up addresses and of organisers' links by `[key]`."""
    return _KEY_PATTERN.sub(lambda found: f"{found[1] or ''}{REDACTED_KEY}", text)


def _redact_tokens_in_text(text: str) -> str:
    lowered = text.lower()
    if "tok-" in lowered:
        text = _TOKEN_PATTERN.sub(REDACTED, text)
    if KEY_PREFIX in lowered or "join/" in lowered or "join%2f" in lowered:
        text = redact_keys(text)
    return _TOKEN_CHARACTERS.sub(_redact_signed_token, text) if SIGNED_TOKEN_PREFIX in text else text


def _redact_signed_token(run: re.Match[str]) -> str:
    """Redact from the first signed token of a match on; scans the text only once, so long texts stay cheap."""
    text = run[0]
    start = text.find(SIGNED_TOKEN_PREFIX)
    return text if start < 0 or text.count(".", start) < 2 else text[:start] + REDACTED


class CutLine(NamedTuple):
    """A line of JSON with a message of which only the beginning is shown."""

    start: bytes
    """A whole line with its line break, without the message."""
    message: bytes
    """Fields to add to it, redacted already."""


def redact_lines(lines: Sequence[bytes | CutLine], secrets: Sequence[bytes] = ()) -> bytes:
    """Join lines of JSON, each with its line break, with tokens redacted and unprintable characters escaped.

    All lines are searched at once: nearly all have tokens in the usual fields only, which is seen in the bytes.
    """
    whole = [line.start if isinstance(line, CutLine) else line for line in lines]
    redacted = _redact_bytes(b"".join(whole), len(whole), secrets)
    if redacted is None:
        redacted = b"".join(_redact_line(line, secrets) for line in whole)
    if CutLine not in map(type, lines):
        return redacted
    starts = redacted.split(b"\n")
    for number, line in enumerate(lines):
        if isinstance(line, CutLine):
            starts[number] = b"%b%b}" % (starts[number][:-1], line.message)
    return b"\n".join(starts)


def _redact_bytes(data: bytes, line_count: int, secrets: Sequence[bytes]) -> bytes | None:
    """Redact by searching the bytes; None if the lines must be parsed to be sure."""
    if data.translate(None, _PRINTABLE_BYTES) != b"\n" * line_count and (
        data.count(b"\n") != line_count or not data.decode(errors="replace").replace("\n", "").isprintable()
    ):
        return None
    start, *others = data.split(_TOKEN_FIELD)
    pieces = [start]
    for piece in others:
        end = piece.find(b'"')
        if end < 0 or piece[end - 1 : end] == b"\\":
            return None
        pieces.append(piece[end:])
    data = b'token":"[redacted]'.join(pieces)
    if b"\\" not in data and _has_no_other_sign(data, len(others)):
        return None if any(secret in data for secret in secrets if not secret.startswith(b"tok-")) else data
    lowered = data.lower()
    if b"\\" in data and (any(sign in lowered for sign in _ESCAPED_TOKEN_SIGNS) or any(map(_has_escapes, secrets))):
        return None
    if lowered.count(b'token"') != len(others) + data.count(b'token":null'):
        return None
    is_clean = b"tok-" not in lowered and b"eyJ" not in data and b'_key"' not in lowered and b'-key"' not in lowered
    is_clean = is_clean and not any(sign in lowered for sign in _KEY_SIGN_BYTES)
    return data if is_clean and not any(secret in data for secret in secrets) else None


def _has_no_other_sign(data: bytes, token_count: int) -> bool:
    """Whether there are surely no signs of tokens and keys but so many fields of tokens; False if it must be looked at.

    Only the characters of signs are searched, in lower case: they are half of the text, and hold whatever it held.
    """
    signs = data.translate(_LOWERED_BYTES, _UNSIGNED_BYTES)
    return (
        b"key" not in signs
        and b"eyj" not in signs
        and b"join/" not in signs
        and b"%" not in signs
        and ((more := signs.count(b"tok") - token_count) == 0 or more == sum(map(data.count, _TOKENLESS_FIELDS)))
    )


def _has_escapes(secret: bytes) -> bool:
    """Whether JSON escapes characters of this secret."""
    return b'"' in secret or b"\\" in secret


def _redact_line(line: bytes, secrets: Sequence[bytes]) -> bytes:
    """Redact one line, parsing it only if its bytes aren't enough."""
    plain = _redact_bytes(line, 1, secrets)
    if plain is not None:
        return plain
    try:
        entry = redact_tokens(json.loads(line), [secret.decode() for secret in secrets])
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"
    except (ValueError, RecursionError):  # nested too deeply to be parsed
        head, _, message = line.removesuffix(b"}\n").partition(b',"message":')
        return b"%b%b}\n" % (head, encode_as_text(message, secrets))


def encode_as_text(message: bytes, secrets: Sequence[bytes] = ()) -> bytes:
    """Encode a message that is too long or no JSON as the last fields of its line: length and redacted beginning."""
    is_cut = len(message) > MAX_LOGGED_BYTES
    shown = message[:MAX_LOGGED_BYTES]
    text = _encode_beginning(shown, is_cut)
    if any(secret in shown or _has_escapes(secret) for secret in secrets):
        text = json.dumps(redact_text(shown.decode(errors="replace"), secrets, is_cut=is_cut)).encode()
    return b',"bytes":%d,"cut":%b,"text":%b' % (len(message), b"true" if is_cut else b"false", text)


@lru_cache(maxsize=16)
def _encode_beginning(shown: bytes, is_cut: bool) -> bytes:
    """Encode the redacted beginning of a message; cached, as a broadcast is logged once for each recipient."""
    return json.dumps(redact_text(shown.decode(errors="replace"), is_cut=is_cut)).encode()


def redact_text(text: str, secrets: Sequence[bytes] = (), *, is_cut: bool = False) -> str:
    """Redact tokens in plain text; if it was cut, drop its last word too, which may be part of a token."""
    text = _ESCAPED_LETTER.sub(lambda found: chr(int(found[1], 16)), text)
    if is_cut:
        text = text[: max(text.rfind('"'), text.rfind(" "), 0)]
    text = _SECRET_IN_TEXT.sub(rf'\1"{REDACTED}', text)
    return str(redact_tokens(text, [secret.decode() for secret in secrets]))
