"""Adds up what the players' language models used in a match, from its transcript.

Answers may be a stranger's: a `usage` of another form than the protocol's is skipped.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from agent_league.errors import ErrorCode
from agent_league.model.model_usage import ModelUsage, add_usage
from agent_league.protocol.v2 import MoveUsage

ILLEGAL_CODES = (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE)


def summarise_model_usage(entries: Iterable[Mapping[str, Any]]) -> dict[str, ModelUsage]:
    """Add up by player what was used; players that report nothing are left out."""
    found = [(str(entry["player_id"]), usage) for entry in entries if (usage := _read_entry(entry)) is not None]
    total = add_usage(found)
    return {player_id: usage for player_id, usage in total.items() if usage.model}


def _read_entry(entry: Mapping[str, Any]) -> ModelUsage | None:
    """Read one answer, or one failure to answer; None if it counts for nothing."""
    direction, code = entry.get("direction"), entry.get("error_code")
    if direction not in ("received", "failed"):
        return None
    message = entry.get("message")
    said = _parse_usage(message.get("usage")) if isinstance(message, Mapping) else None
    if said is None:
        if direction == "received":
            return None
        illegal, late = int(code in ILLEGAL_CODES), int(code == ErrorCode.TIMEOUT_ERROR)
        return ModelUsage(model="", illegal_answers=illegal, late_answers=late)
    return ModelUsage(
        model=said.model,
        moves=int(direction == "received"),
        input_tokens=said.input_tokens,
        output_tokens=said.output_tokens,
        cost_usd=said.cost_usd,
        unpriced_moves=int(said.cost_usd is None and said.attempts > 0),
        latency_ms=entry.get("latency_ms", 0.0) if direction == "received" else 0.0,
        illegal_answers=said.illegal_answers + (code in ILLEGAL_CODES),
        late_answers=said.late_answers + (code == ErrorCode.TIMEOUT_ERROR),
        fallback_moves=int(said.fallback is not None),
    )


def _parse_usage(said: Any) -> MoveUsage | None:
    try:
        return MoveUsage.model_validate(said) if isinstance(said, Mapping) else None
    except ValidationError:
        return None
