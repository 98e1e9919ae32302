"""The orders to run matches: which game each wants, and those of foreign managers, which may come in other ways.

A foreign manager may leave out where the players are, announce matches instead of starting them, or wait to be asked.
"""

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import orjson

from agent_league.agent.breaker import reconnect_delay
from agent_league.agent.call_failures import is_unknown_in_all_forms
from agent_league.agent.registration import LeagueRegistration, RemarkCallback
from agent_league.errors import CallFailed, ErrorCode, Refusal
from agent_league.games.base import BadParameters
from agent_league.games.registry import Game, UnknownGame, is_from_source, load_playable_game
from agent_league.http.hosts import find_endpoint_problem, means_other_machine, normalise_endpoint
from agent_league.log import JsonLogger
from agent_league.model.agents import ANY_GAME, supports_game
from agent_league.model.names import is_safe_name
from agent_league.protocol import v2
from agent_league.protocol.checks import check_envelope, describe_value, parse_fields
from agent_league.protocol.dial_out import is_seat_address, place_seat
from agent_league.protocol.foreign_messages import KnownFacts, complete_message, is_match_over
from agent_league.referee.foreign_manager import ForeignManagerClient, build_start_match
from agent_league.referee.settings import RefereeSettings
from agent_league.text import MAX_PHRASE, quote, shorten

POLL_SECONDS = 1.0
MAX_QUEUED_MATCHES = 10_000
"""Most announced matches that wait for a free place, and most ids that are remembered."""


class MatchOrders:
    """Completes and queues orders, and finds their games."""

    def __init__(
        self,
        settings: RefereeSettings,
        session: LeagueRegistration,
        manager: ForeignManagerClient,
        log: JsonLogger,
        remark: RemarkCallback,
        rng: Random,
        *,
        known: Container[str],
        find_facts: Callable[[], KnownFacts],
        start_queued: Callable[[], None],
    ) -> None:
        """`known` has the ids of all matches that were started; `start_queued` starts as many as there is room for."""
        self._settings = settings
        self._session = session
        self._manager = manager
        self._log = log
        self._remark = remark
        self._rng = rng
        self._known = known
        self._find_facts = find_facts
        self._start_queued = start_queued
        self.loaded_games = {name: self._load_game(name) for name in settings.game_types if name != ANY_GAME}
        self._last_ordered_game: tuple[str, bytes, Game] | None = None
        """Type, parameters and game of the last order with parameters; nearly all orders have the same."""
        self.queued: dict[str, v2.StartMatch] = {}
        self.announced_rounds: dict[str, int] = {}
        """Round of each announced match."""
        self._unplayable_ids: set[str] = set()
        """Assigned matches that can't be played; each is logged once."""

    def resolve_game(self, order: v2.StartMatch) -> Game:
        """Return the game of an order with its parameters; raises Refusal if the order can't be carried out."""
        for name, value in (("match_id", order.match_id), ("league_id", order.league_id)):
            if not is_safe_name(value):
                raise Refusal(
                    ErrorCode.INVALID_MESSAGE_FORMAT,
                    f"'{name}' can't name a file",
                    field=name,
                    received=describe_value(value),
                )
        if not self._session.callers.has_key:
            self._check_addresses(order)
        own, given = self.loaded_games.get(order.game_type), order.game_parameters
        if own is None and ANY_GAME not in self._settings.game_types:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"{self._session.agent_id} doesn't referee {quote(order.game_type)}",
                field="game_type",
                expected=sorted(self.loaded_games),
                received=describe_value(order.game_type),
            )
        try:
            return own if own and given is None else self._load_ordered_game(order.game_type, given)
        except Exception as error:  # noqa: BLE001 - a third party's game may raise anything, on anybody's parameters
            why = str(error) if isinstance(error, UnknownGame | BadParameters) else repr(error)
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"{self._session.agent_id} can't referee {quote(order.game_type)}: {shorten(why, MAX_PHRASE)}",
                field="game_type" if given is None or isinstance(error, UnknownGame) else "game_parameters",
            ) from None

    def _load_ordered_game(self, game_type: str, parameters: Mapping[str, Any] | None) -> Game:
        """Load a game with an order's parameters; cached for the last type and parameters."""
        if parameters is None:
            return self._load_game(game_type)
        written = orjson.dumps(parameters)
        if self._last_ordered_game is None or self._last_ordered_game[:2] != (game_type, written):
            self._last_ordered_game = (game_type, written, self._load_game(game_type, parameters))
        return self._last_ordered_game[2]

    def _load_game(self, game_type: str, parameters: Mapping[str, Any] | None = None) -> Game:
        """Load a game with these parameters, by default those of our registry."""
        return load_playable_game(
            game_type, self._settings.games.get_parameters(game_type) if parameters is None else parameters
        )

    def _check_addresses(self, order: v2.StartMatch) -> None:
        """Check a foreign manager's player addresses against our allowed hosts; ours has done so. Raises Refusal."""
        for side, player in (("player_A", order.player_A), ("player_B", order.player_B)):
            problem = find_endpoint_problem(player.endpoint, self._settings.system.network.allowed_hosts)
            if player.addresses:
                problem = "only a manager that signs its calls may say at which 'addresses' a host is called"
            if problem:
                raise Refusal(
                    ErrorCode.INVALID_MESSAGE_FORMAT, f"'{side}.endpoint': {problem}", field=f"{side}.endpoint"
                )

    async def preload_game(self, order: v2.StartMatch) -> None:
        """Load a game from an external source in a thread, so that other matches go on meanwhile."""
        name = order.game_type
        if is_from_source(name) and supports_game(self._settings.game_types, name):
            with suppress(Exception):  # errors are raised again when the match starts
                await asyncio.to_thread(self._load_ordered_game, name, order.game_parameters)

    def place_seats(self, order: v2.StartMatch) -> v2.StartMatch:
        """Call dial-out seats whose address means our own machine by the address at which we reach the manager.

        The manager's public address may be `localhost` for people, while we are in another container.
        """
        manager = self._session.manager_address
        for side, player in (("player_A", order.player_A), ("player_B", order.player_B)):
            if is_seat_address(player.endpoint) and means_other_machine(player.endpoint, manager):
                endpoint = place_seat(player.endpoint, manager)
                order = order.model_copy(update={side: player.model_copy(update={"endpoint": endpoint})})
        return order

    async def fill_in_addresses(self, order: v2.StartMatch) -> v2.StartMatch:
        """Look up the player addresses that a foreign manager's order leaves out. Raises Refusal if one is unknown."""
        for side, player in (("player_A", order.player_A), ("player_B", order.player_B)):
            if not player.endpoint:
                endpoint = await self._manager.find_player_address(player.player_id)
                if endpoint is None:
                    self._log.warning("match_without_addresses", match_id=describe_value(order.match_id))
                    raise Refusal(
                        ErrorCode.MISSING_REQUIRED_FIELD,
                        f"missing: {side}.endpoint, and neither agents_config.json nor league_query tells where"
                        f" {describe_value(player.player_id)} is",
                        missing_fields=[f"{side}.endpoint"],
                    )
                order = order.model_copy(update={side: player.model_copy(update={"endpoint": endpoint})})
        return order

    async def poll_manager(self) -> None:
        """Poll a foreign manager for our matches, until it turns out not to know such polls."""
        if not self._session.has_foreign_manager or self._settings.system.tolerance.strict:
            return
        failures = 0
        await asyncio.sleep(POLL_SECONDS)
        while True:
            try:
                matches = await self._manager.fetch_matches()
            except CallFailed as error:
                if is_unknown_in_all_forms(error):
                    return
                failures += 1
                await asyncio.sleep(max(POLL_SECONDS, reconnect_delay(failures, self._rng)))
                continue
            if matches is None:
                return
            failures = 0
            await self._queue_assigned_matches(matches)
            await asyncio.sleep(POLL_SECONDS)

    async def _queue_assigned_matches(self, matches: Sequence[Mapping[str, Any]]) -> None:
        """Queue the matches in a poll's answer that are ours and new."""
        for match in matches:
            match_id = str(match.get("match_id"))
            if match_id in self._known or match_id in self.queued or match_id in self._unplayable_ids:
                continue
            if is_match_over(match) or match.get("referee_id") not in (None, self._session.agent_id):
                continue
            message, _ = complete_message(
                v2.StartMatch.TYPE, {**match, "message_type": v2.StartMatch.TYPE}, self._find_facts()
            )
            try:
                check_envelope(message, v2.StartMatch.TYPE)
                await self._queue_order(await self.fill_in_addresses(parse_fields(v2.StartMatch, message)))
            except Refusal as refusal:
                self.log_unplayable_match(match_id, refusal)
        self._start_queued()

    async def queue_announced_matches(self, message: v2.RoundAnnouncement) -> None:
        """Queue our matches of an announced round; a foreign manager may start matches in this way only."""
        if self._session.callers.has_key:
            return
        own = normalise_endpoint(self._settings.endpoint)
        if len(self.announced_rounds) >= MAX_QUEUED_MATCHES:
            self.announced_rounds.clear()
        self.announced_rounds.update(
            (match.match_id, message.round_id) for match in message.matches[:MAX_QUEUED_MATCHES]
        )
        for match in message.matches:
            if normalise_endpoint(match.referee_endpoint) != own:
                continue
            try:
                await self._queue_order(await self.fill_in_addresses(build_start_match(message, match)))
            except Refusal as refusal:
                self.log_unplayable_match(match.match_id, refusal)
        self._start_queued()

    async def _queue_order(self, order: v2.StartMatch) -> None:
        """Queue a match until a place is free; dropped if the queue is full."""
        if len(self.queued) < MAX_QUEUED_MATCHES:
            await self.preload_game(order)
            self.queued[order.match_id] = order

    def log_unplayable_match(self, match_id: str, refusal: Refusal) -> None:
        if len(self._unplayable_ids) < MAX_QUEUED_MATCHES:
            self._unplayable_ids.add(match_id)
        self._log.warning("announcement_refused", match_id=describe_value(match_id), message=refusal.message)
        self._remark(f"{describe_value(match_id)} can't be played: {refusal.message}")
