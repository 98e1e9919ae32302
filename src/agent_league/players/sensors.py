"""Sensors: read the messages that a player receives into observations of matches and records of results."""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

import orjson

from agent_league.clock import Clock, SystemClock, parse_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.games.base import Rules
from agent_league.games.move_schema import SUPPORTED_SCHEMAS, UnsupportedMoveSchema, schema_to_moves
from agent_league.games.registry import load_game
from agent_league.model.results import VOID_REASON
from agent_league.players.deadline import THINKING_SECONDS
from agent_league.players.observation import VOID, GameRecord, Observation
from agent_league.protocol import v2
from agent_league.text import quote

PARITIES = ("even", "odd")
MAX_DETAILS_LENGTH = 4096
"""Characters of a result's extra fields; longer ones are dropped, as they would be stored in the history."""
MAX_MOVES_LENGTH = 100_000
"""Characters of a player's moves in one match."""
MAX_TIME_LIMIT = timedelta(days=1)
PLACEHOLDER_DICE = Random(0)  # noqa: S311 - never thrown
"""Stands for the dice until they are used: creating them costs more than most answers."""


class LazyObservation(Observation):
    """An observation whose dice and rules are created on first access; most strategies never use them.

    Whoever creates it deletes `random` and `rules`, and sets the functions that create them.
    """

    __slots__ = ("create_dice", "load_rules")
    create_dice: Callable[[], Random]
    load_rules: Callable[[], Rules | None]

    def __getattr__(self, name: str) -> Any:
        if name == "random":
            self.random = self.create_dice()
            return self.random
        if name == "rules":
            self.rules = self.load_rules()
            return self.rules
        raise AttributeError(f"an observation has no {quote(name)}")


class Sensors:
    """Turns messages into observations and records. Under a seed, dice depend on match and step alone."""

    def __init__(self, seed: str | None, name: str, clock: Clock | None = None) -> None:
        self._seed = seed
        self._name = name
        self._clock = clock or SystemClock()
        self._unseeded_dice = Random()  # noqa: S311 - a game, not a secret

    def observe_parity_call(
        self,
        call: v2.ChooseParityCall,
        player_id: str,
        history: Sequence[GameRecord],
        invitation: v2.GameInvitation | None = None,
    ) -> Observation:
        return self._build_observation(
            call, player_id, history, invitation, call.game_type or "even_odd", PARITIES, None, 0, None
        )

    def observe_move_call(
        self,
        call: v2.GameMoveCall,
        player_id: str,
        history: Sequence[GameRecord],
        invitation: v2.GameInvitation | None = None,
    ) -> Observation:
        request = call.move_request
        return self._build_observation(
            call,
            player_id,
            history,
            invitation,
            call.game_type,
            tuple(request.valid_options) if request.valid_options else _parse_move_schema(request),
            request.context,
            request.step,
            request.your_role,
        )

    def read_game_record(
        self,
        message: v2.GameOver,
        player_id: str,
        league_id: str | None,
        season: str | None,
        invitation: v2.GameInvitation | None,
        opponent_id: str | None,
    ) -> GameRecord:
        """Read a result into a record from this player's side; without `opponent_id`, the result is searched for it."""
        game_type = message.game_type or (invitation.game_type if invitation else None)
        result = message.game_result
        choices: dict[str, Any] = result.choices or {}
        extra = result.model_extra or {}
        if opponent_id is None:
            named = (*choices, result.winner_player_id, extra.get("loser_player_id"))
            opponent_id = next((one for one in named if isinstance(one, str) and one != player_id), "unknown")
        outcome = str(result.status)
        if result.winner_player_id == player_id:
            outcome = "WIN"
        elif result.status == "WIN":
            outcome = "LOSS"
        elif result.winner_player_id is None and result.reason == VOID_REASON:
            outcome = VOID
        if len(repr(extra)) > MAX_DETAILS_LENGTH:
            extra = {}
        return GameRecord(
            match_id=message.match_id,
            game_type=game_type or "even_odd",
            opponent_id=opponent_id,
            outcome=outcome,
            my_moves=_parse_moves(choices.get(player_id)),
            opponent_moves=_parse_moves(choices.get(opponent_id)),
            league_id=message.league_id or league_id,
            round_id=message.round_id,
            season=season,
            details={**extra, "reason": result.reason},
        )

    def _build_observation(
        self,
        call: v2.ChooseParityCall | v2.GameMoveCall,
        player_id: str,
        history: Sequence[GameRecord],
        invitation: v2.GameInvitation | None,
        game_type: str,
        legal_moves: Sequence[Any],
        view: Any,
        step: int,
        role: str | None,
    ) -> Observation:
        context = call.context
        asked, until = parse_utc(call.timestamp), parse_utc(call.deadline or "")
        deadline: datetime | None = None
        if asked and until and asked <= until:  # by our own clock: the referee's may differ
            deadline = self._clock.now() + min(until - asked, MAX_TIME_LIMIT)
        invited_against = invitation.opponent_id if invitation else None
        role = role or (invitation.role_in_match if invitation else None)
        parameters = invitation.game_parameters if invitation else None
        seen = LazyObservation(
            game_type=game_type,
            match_id=call.match_id,
            player_id=player_id,
            opponent_id=context.opponent_id if context and context.opponent_id else invited_against,
            legal_moves=legal_moves,
            view=view,
            step=step,
            round_id=call.round_id if call.round_id is not None else (context.round_id if context else None),
            standings=context.your_standings.model_dump() if context and context.your_standings else {},
            history=history,
            random=PLACEHOLDER_DICE,
            deadline=deadline,
            seat=1 if role == "PLAYER_B" else 0,
            thinking_seconds=THINKING_SECONDS if self._seed is None else None,
        )
        del seen.random, seen.rules
        seen.create_dice = lambda: self._create_dice(call.match_id, step)
        seen.load_rules = lambda: _load_rules(game_type, orjson.dumps(parameters or {}))
        return seen

    def _create_dice(self, match_id: str, step: int) -> Random:
        if self._seed is None:
            return self._unseeded_dice
        text = f"{self._seed}/{self._name}/{match_id}/{step}"
        return Random(hashlib.sha256(text.encode()).digest())  # noqa: S311 - a game, not a secret


@lru_cache(maxsize=64)
def _load_rules(game_type: str, parameters: bytes) -> Rules | None:
    """Load the rules of a game under a match's parameters; None if it isn't installed or they raise."""
    try:
        return load_game(game_type).with_parameters(orjson.loads(parameters)).rules
    except Exception:  # noqa: BLE001 - a third party's rules may raise anything, on anybody's parameters
        return None


def _parse_move_schema(request: v2.MoveRequest) -> Sequence[Any]:
    """Return the moves that the schema allows, where none are listed. Raises Refusal if there are none."""
    if request.move_schema is None:
        if request.valid_options is None:
            missing = ["move_request.valid_options"]
            raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, f"missing: {missing[0]}", missing_fields=missing)
        raise _invalid_move_request("valid_options", "must not be empty")
    try:
        moves = schema_to_moves(request.move_schema)
    except UnsupportedMoveSchema as error:
        raise _invalid_move_request(
            "move_schema", f"can't be turned into moves: {error}", expected=SUPPORTED_SCHEMAS
        ) from None
    if not moves:
        raise _invalid_move_request("move_schema", "allows no move")
    return moves


def _invalid_move_request(field: str, problem: str, **more: Any) -> Refusal:
    field = f"move_request.{field}"
    return Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, f"'{field}' {problem}", field=field, **more)


def _parse_moves(choice: Any) -> tuple[Any, ...]:
    if choice is None or len(repr(choice)) > MAX_MOVES_LENGTH:
        return ()
    return tuple(choice) if isinstance(choice, list) else (choice,)
