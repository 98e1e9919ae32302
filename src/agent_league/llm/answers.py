"""Answers of a model: the form that it is asked for, and the move that an answer means.

Moves that are different short words or numbers are named as they are, so that 4 is the move 4 and nothing else; all
others are numbered from 1. Knows neither the prompt nor the library that asks.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from agent_league.games.base import describe_range, is_long_range
from agent_league.players.moves import find_meant_moves, find_named_moves
from agent_league.players.observation import Move
from agent_league.text import MAX_WORD, redact_tokens

MAX_TEXT_READ = 20_000
"""Characters at the end of an answer in words that are searched for the move."""
REASONING_FIELD = "reasoning"
ESCAPED_CHARACTERS = frozenset('<>&"\\')
"""A word with one of these is shown escaped, so a model might repeat it otherwise."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A legal move, and what the model said of it."""

    move: Move
    reasoning: str = ""


class NoSuchMove(ValueError):
    """An answer that names no legal move; its text says to the model what is expected."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How an answer names one of these moves."""

    moves: Sequence[Move]
    names_moves: bool
    """Whether moves are named as they are; else by their numbers from 1."""
    has_reasoning: bool = False
    """Whether the model is asked for its reasons, too."""

    @classmethod
    def for_moves(cls, moves: Sequence[Move], *, has_reasoning: bool = False) -> "AnswerForm":
        return cls(moves, is_long_range(moves) or _can_be_named(moves), has_reasoning)

    @property
    def field(self) -> str:
        return "move" if self.names_moves else "option"

    def describe(self) -> str:
        """Say in words what an answer looks like; contains no text of others."""
        reasons = f'"{REASONING_FIELD}": "...", ' if self.has_reasoning else ""
        why = "; the reasoning is why you play it, in a few sentences" if self.has_reasoning else ""
        if not self.names_moves:
            return (
                "However the rules have a move written, you choose one of the numbered options and answer with its "
                f'number alone, in the form {{{reasons}"option": 1}}{why}; it is then sent as the rules want it.'
            )
        what = "a number" if self._type() in ("integer", "number") else "a word"
        example = "1" if what == "a number" else '"..."'
        return (
            f"However the rules have a move sent, you answer with one of the options exactly as it is listed, {what}, "
            f'in the form {{{reasons}"move": {example}}}{why}; it is then sent as the rules want it.'
        )

    def make_model(self) -> type[BaseModel]:
        """Make the model of an answer, whose JSON schema contains no text of others."""
        fields: dict[str, Any] = {
            name: (JsonValue, Field(default=... if name == self.field else "", json_schema_extra=schema))
            for name, schema in self._make_properties().items()
        }
        return create_model("Answer", __config__=ConfigDict(extra="ignore"), __doc__="The move to play.", **fields)

    def make_schema(self) -> dict[str, Any]:
        """Make the JSON schema of an answer."""
        properties = self._make_properties()
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}

    def _make_properties(self) -> dict[str, dict[str, JsonValue]]:
        said = "The move, exactly as listed." if self.names_moves else "The number of the option."
        move: dict[str, JsonValue] = {"description": said, **({"type": kind} if (kind := self._type()) else {})}
        reasoning: dict[str, JsonValue] = {"description": "Why you play it, in a few sentences.", "type": "string"}
        return {REASONING_FIELD: reasoning, self.field: move} if self.has_reasoning else {self.field: move}

    def read_fields(self, fields: Mapping[str, Any]) -> Answer:
        """Read an answer that came in fields; raises NoSuchMove."""
        said = fields.get(REASONING_FIELD)
        return Answer(self.find_move(fields.get(self.field)), said if isinstance(said, str) else "")

    def to_fields(self, answer: Answer) -> dict[str, Any]:
        """Return the fields in which an answer would have come."""
        said = answer.move if self.names_moves else self.moves.index(answer.move) + 1
        return {REASONING_FIELD: answer.reasoning, self.field: said} if self.has_reasoning else {self.field: said}

    def find_move(self, said: Any) -> Move:
        """Return the move that an answer means; raises NoSuchMove."""
        found = self._find_named_moves(said) if self.names_moves else self._find_numbered_moves(said)
        if len(found) != 1:
            raise NoSuchMove(f"There is no such {self.field}; answer with {self._describe_expected()}.")
        return found[0]

    def read_text(self, text: str) -> Answer:
        """Find the answer in words: the last JSON object with a move in it, or nothing but the move itself.

        Raises NoSuchMove.
        """
        text = text.strip()
        if text.startswith("{") and (fields := self._read_object(text)) is not None and text.endswith("}"):
            return self.read_fields(fields)
        text = text[-MAX_TEXT_READ:]
        for at in range(len(text) - 1, -1, -1):
            if text[at] == "{" and (fields := self._read_object(text[at:])) is not None:
                answer = self.read_fields(fields)
                return answer if answer.reasoning else Answer(answer.move, text[:at].strip())
        return Answer(self.find_move(text.strip("`*\"'. \n")))

    def _read_object(self, text: str) -> dict[str, Any] | None:
        try:
            said, _ = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return None
        return said if isinstance(said, dict) and self.field in said else None

    def _find_named_moves(self, said: Any) -> Sequence[Move]:
        return [] if isinstance(said, bool) else find_named_moves(said, self.moves)

    def _find_numbered_moves(self, said: Any) -> Sequence[Move]:
        places = find_meant_moves(said.strip() if isinstance(said, str) else said, range(1, len(self.moves) + 1))
        return [] if isinstance(said, bool) else [self.moves[place - 1] for place in places]

    def _type(self) -> str | None:
        """The JSON type of all answers; None if it isn't one."""
        if not self.names_moves or is_long_range(self.moves):
            return "integer"
        kinds = {"string" if isinstance(move, str) else "number" for move in self.moves}
        if kinds == {"number"} and all(isinstance(move, int) for move in self.moves):
            return "integer"
        return kinds.pop() if len(kinds) == 1 else None

    def _describe_expected(self) -> str:
        if is_long_range(self.moves):
            return f"one of {describe_range(self.moves)}"
        if self.names_moves:
            return "one of the options, exactly as it is listed"
        return f"one of the numbers from 1 to {len(self.moves)}"


def _can_be_named(moves: Sequence[Move]) -> bool:
    """Whether all moves are different short words and numbers that are shown just as they are."""
    texts = {
        move.strip().casefold() if isinstance(move, str) else json.dumps(move) for move in moves if _is_plain(move)
    }
    return len(texts) == len(moves)


def _is_plain(move: Move) -> bool:
    if isinstance(move, str):
        is_shown_whole = 0 < len(move) <= MAX_WORD and move.isprintable() and not ESCAPED_CHARACTERS & set(move)
        return is_shown_whole and move == move.strip() and bool(redact_tokens(move) == move)
    return isinstance(move, int | float) and not isinstance(move, bool)
