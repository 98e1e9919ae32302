"""Renders the table of tolerated forms as Markdown for the documentation, so that it always matches the code."""

from collections.abc import Iterator

from agent_league.protocol.methods import METHODS
from agent_league.protocol.tolerance import (
    ANSWER_PLACES,
    CALL_FORMS,
    EMPTY_AT_REGISTRATION,
    FIELD_SPELLINGS,
    FILLED_AT_REGISTRATION,
    FORM_BY_NAME,
    POLL_METHOD,
    PROTOCOL_VERSIONS,
    REGISTER_PATH,
    RUN_PATH,
    TOOL_CALL,
    MessageFrame,
)


def table() -> str:
    """Render the Markdown table: what it is about, what we send, what else we accept."""
    rows = [
        ("what", "ours", "accepted as well"),
        ("---", "---", "---"),
        *_frame_rows(),
        *_method_rows(),
        *_place_rows(),
        *_field_rows(),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _frame_rows() -> Iterator[tuple[str, str, str]]:
    others = [
        style.description
        for style in CALL_FORMS
        if style.frame is not MessageFrame.PARAMS and not style.is_combined and style.has_method("register_player")
    ]
    yield "where a message is", "`params`", "; ".join(others)
    tools = f"`{TOOL_CALL}`, of MCP as well, there also with the one argument `message`"
    yield "names and frames", "as above", f"each of the names below in `{MessageFrame.MESSAGE}` and in {tools}"


def _method_rows() -> Iterator[tuple[str, str, str]]:
    for method in METHODS:
        names = dict.fromkeys(
            style.method_names[method]
            for style in CALL_FORMS
            if style.frame is MessageFrame.PARAMS and method in style.method_names
        )
        others = [f"`{name}`" for name in names if name != method]
        if FORM_BY_NAME["register"].has_method(method):
            others.append(f"`POST {REGISTER_PATH}`")
        if method == "start_match":
            others.append(f"`POST {RUN_PATH}`")
            others.append("ROUND_ANNOUNCEMENT with the referee's own address or id")
            others.append(f"the referee asks for its matches with `{POLL_METHOD}`")
        if method == "report_match_result":
            others.append("the result in the reply to the start")
        if others:
            yield "method", f"`{method}`", ", ".join(others)


def _place_rows() -> Iterator[tuple[str, str, str]]:
    first, *others = (f"`{place}`" if place[0] == "r" or place == "params" else place for place in ANSWER_PLACES)
    yield "where an answer is", first, ", ".join([*others, "a call of the player's own to the referee"])


def _field_rows() -> Iterator[tuple[str, str, str]]:
    for message_type, fields in FIELD_SPELLINGS.items():
        spelled: dict[str, list[str]] = {}
        for name, ours in fields.other_names.items():
            if _to_snake_case(name) == ours:
                continue
            spelled.setdefault(ours, []).append(f"`{name}`")
        for status, (ours, value) in fields.status_values.items():
            if ours != "status":
                spelled.setdefault(ours, []).append(f"`status` {status} ({str(value).lower()})")
            elif status != value:
                spelled.setdefault(f"{ours}` {value} `", []).append(f"`{status}`")
        for ours, others in spelled.items():
            yield f"field of {message_type}", f"`{ours}`".replace(" ``", ""), ", ".join(others)
        if fields.nested_object:
            yield f"field of {message_type}", f"names in `{fields.nested_object}`", "the same in camelCase"
            left_out = ", ".join(f"`{name}`" for name in FILLED_AT_REGISTRATION)
            yield f"envelope of {message_type}", "all of it", f"without {left_out}: written in"
            empty = " and ".join(f"`{name}`" for name in EMPTY_AT_REGISTRATION)
            yield f"field of {message_type}", empty, "empty: as if it weren't there"
            yield f"field of {message_type}", f"`{fields.nested_object}.version`", "none"
            for said, version in PROTOCOL_VERSIONS.items():
                yield f"field of {message_type}", f"`protocol_version` {version}", f"`{said}`"


def _to_snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
