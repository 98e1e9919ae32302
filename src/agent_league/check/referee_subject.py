"""A referee under check, the checker's manager and both players, and the matches that are played."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from agent_league.check.fields import get_field
from agent_league.check.http_probe import HttpProbe, ProbeReply
from agent_league.check.listener import IncomingCall
from agent_league.check.notices import make_join_hint, write_notice, write_standings_update
from agent_league.check.scripted_agents import CheckerManager, CheckerPlayer, PlayerBehaviour
from agent_league.check.steps import SkipStep
from agent_league.check.subject import CheckOptions, Exchange, Subject, ValidCall
from agent_league.league.messages import guest_referee_fields
from agent_league.league.reports import find_report
from agent_league.model.agents import Role
from agent_league.model.schedule import Pairing
from agent_league.protocol import v2
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import POLL_METHOD, order_forms
from agent_league.protocol.version import PROTOCOL_V2

ROUND_ID = 9
BEGIN_SECONDS = 5.0
"""How long a referee has to invite the players of a match; after that it did not understand the order."""


@dataclass(frozen=True, slots=True)
class AssignedMatch:
    """A match that was assigned to the referee, and the calls that players and manager received."""

    match_id: str
    order: Mapping[str, Any]
    start_exchange: Exchange
    players: tuple[CheckerPlayer, CheckerPlayer]
    manager: CheckerManager

    def find_calls(self, method: str, side: int) -> list[IncomingCall]:
        return self.players[side].find_calls(method, match_id=self.match_id)

    def get_result(self, side: int = 0) -> Mapping[str, Any] | None:
        """Return the `game_result` that a player received with GAME_OVER, or None."""
        told = self.find_calls("notify_match_result", side)
        found = told[0].message.get("game_result") if told else None
        return found if isinstance(found, dict) else None

    @property
    def report(self) -> Mapping[str, Any] | None:
        """The report that the manager received, or the one inside the reply to START_MATCH; None if there is none."""
        calls = self.manager.find_calls("report_match_result", match_id=self.match_id)
        if calls:
            return calls[0].message
        body = self.start_exchange.body
        inside = body.get("result") if isinstance(body, dict) else None
        return inside if isinstance(inside, dict) and "result" in inside else find_report(body)

    @property
    def is_report_in_reply(self) -> bool:
        """Whether the report came inside the reply to START_MATCH, and not as a call."""
        calls = self.manager.find_calls("report_match_result", match_id=self.match_id)
        return not calls and self.report is not None

    async def wait_until_over(self, limit: float) -> bool:
        """Wait until both players have the result and the manager the report; return whether they do in time."""
        try:
            async with asyncio.timeout(limit):
                for player in self.players:
                    await player.wait_for_calls("notify_match_result", limit, match_id=self.match_id)
                if self.report is None:
                    await self.manager.wait_for_calls("report_match_result", limit, match_id=self.match_id)
        except TimeoutError:
            return False
        return self.report is not None and all(self.get_result(side) is not None for side in (0, 1))


class RefereeSubject(Subject):
    """A referee under check; assigns matches to it as its manager."""

    role = Role.REFEREE

    def __init__(
        self, probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
    ) -> None:
        super().__init__(probe, options, key, manager)
        self.agent_id = "REF01"
        self.servers = self.players = (CheckerPlayer("P01"), CheckerPlayer("P02"))
        self.matches: dict[str, AssignedMatch] = {}
        """Name of the test -> its match; the first match is `first`."""
        self.starts_by_announcement = False
        """Whether the referee starts its matches when a round is announced."""
        self.starts_by_poll = False
        """Whether the referee fetches its matches from the manager."""
        self._match_count = 0

    @property
    def max_concurrent_matches(self) -> int:
        """How many matches the referee takes at once, by its registration."""
        said = get_field(self.registration.message, "referee_meta.max_concurrent_matches") if self.registration else 1
        return said if isinstance(said, int) and said > 0 else 1

    @property
    def unjudged_reason(self) -> str:
        if self.matches:
            return ""
        if self.registration is None:
            why = "no match was played, because it has not registered with the checker as a referee"
            return f"{why}: {make_join_hint(self)} (if it is none, without --role)"
        if self.registration.method != "register_referee":
            return "no match was played, and it registered as a player: check it with --role player"
        return "no match was played: mend what failed at start_match first"

    def make_valid_call(self) -> ValidCall:
        return ValidCall(
            "update_standings", write_standings_update(self, "P01", "P02"), None, self.sign_manager_token()
        )

    def is_valid_answer(self, exchange: Exchange) -> bool:
        return exchange.is_acknowledged or (exchange.is_unknown_method and exchange.reply.status == 200)

    def write_order(self, match_id: str) -> dict[str, Any]:
        a, b = self.players
        token = self.token_signer.issue_match_tokens(
            Pairing(match_id, ROUND_ID, a.player_id, b.player_id), self.agent_id
        ).shared_token
        seats: dict[str, Any] = {
            f"player_{side}": {
                "player_id": player.player_id,
                "display_name": f"Agent {player.player_id}",
                "endpoint": player.endpoint,
                "protocol": "league.v2",
                "token_sha256": hashlib.sha256(player.token.encode()).hexdigest(),
                "standings": {"wins": 0, "losses": 0, "draws": 0},
            }
            for side, player in (("A", a), ("B", b))
        }
        order = v2.StartMatch.write(
            **self.make_envelope("league_manager", f"conv-{match_id.lower()}-001"),
            league_id=self.league_id,
            round_id=ROUND_ID,
            match_id=match_id,
            game_type="even_odd",
            **seats,
            player_A_id=a.player_id,
            player_A_endpoint=a.endpoint,
            player_B_id=b.player_id,
            player_B_endpoint=b.endpoint,
            match_token=token,
            scoring={"win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0},
        ).to_wire()
        return {**order, **guest_referee_fields(self.agent_id, seats["player_A"], seats["player_B"])}

    @property
    def registered_manager(self) -> CheckerManager:
        if self.manager is None or self.registration is None:
            raise SkipStep("the referee has not registered with the checker, so its reports would go to somebody else")
        return self.manager

    def new_match_id(self) -> str:
        self._match_count += 1
        return f"R9M{self._match_count}"

    async def start_match(self, a: PlayerBehaviour, b: PlayerBehaviour) -> AssignedMatch:
        """Assign a new match to the referee, in which the players behave like this."""
        boss, match_id = self.registered_manager, self.new_match_id()
        for player, behaviour in zip(self.players, (a, b), strict=True):
            player.behaviours[match_id] = behaviour
        order = self.write_order(match_id)
        exchange = await self._assign_match(match_id, order)
        return AssignedMatch(match_id, order, exchange, self.players, boss)

    def get_match(self, name: str) -> AssignedMatch:
        if name not in self.matches:
            raise SkipStep("no match came to its end that could be looked at")
        return self.matches[name]

    async def _send_order(self, match_id: str, order: Mapping[str, Any]) -> Exchange:
        """Send START_MATCH in the call form that starts the match; return the first exchange if none does."""
        bearer = self.sign_manager_token()
        if "start_match" in self.call_forms:
            return await self.ask("start_match", order, bearer=bearer)
        first: Exchange | None = None
        for style in order_forms("start_match", PROTOCOL_V2, self.call_form.name):
            exchange = await self.ask("start_match", order, call_form=style, bearer=bearer)
            if exchange.league_error is not None:
                return exchange
            if exchange.is_acknowledged and await self._has_begun(match_id):
                self.call_forms["start_match"] = self.call_form = style
                self.record_deviations(exchange)
                return exchange
            first = first or exchange
        if first is None:
            raise SkipStep("no style has a name for start_match")
        return first

    async def _has_begun(self, match_id: str) -> bool:
        return bool(await self.players[0].wait_for_calls("handle_game_invitation", BEGIN_SECONDS, match_id=match_id))

    def require_first_match(self) -> None:
        """Skip the step if the referee has played no match."""
        self.get_match("first")

    def require_orders(self) -> None:
        """Skip the step if the referee has played no match, or takes no START_MATCH."""
        self.require_first_match()
        if self.starts_by_poll:
            raise SkipStep(f"the referee takes no orders: it fetches its matches with `{POLL_METHOD}`")

    async def _assign_match(self, match_id: str, order: Mapping[str, Any]) -> Exchange:
        """Assign a match by START_MATCH, by ROUND_ANNOUNCEMENT or in the answer to a poll, whichever starts it."""
        if self.starts_by_poll:
            self.registered_manager.waiting_matches[match_id] = order
            return self._make_fetched_exchange(order)
        exchange = self.exchanges["start"] if self.starts_by_announcement else await self._send_order(match_id, order)
        if "start_match" in self.call_forms or exchange.league_error is not None:
            return exchange
        if self.agent_id not in self.registered_manager.polls:
            announced = await self._announce_round(order)
            if announced.is_acknowledged and await self._has_begun(match_id):
                self.starts_by_announcement = True
                self.deviations.append("started by ROUND_ANNOUNCEMENT")
                return announced
        if await self._is_match_fetched(match_id, order):
            self.starts_by_poll = True
            self.deviations.append(f"matches fetched by {POLL_METHOD}")
            return self._make_fetched_exchange(order)
        return exchange

    async def _announce_round(self, order: Mapping[str, Any]) -> Exchange:
        announced = {
            name: order[name]
            for name in (
                "match_id",
                "game_type",
                "player_A_id",
                "player_A_endpoint",
                "player_B_id",
                "player_B_endpoint",
            )
        }
        own = {"referee_id": self.agent_id, "referee_endpoint": self.probe.url, "match_token": order["match_token"]}
        match = {**announced, **own}
        announcement = write_notice(
            self, v2.RoundAnnouncement, "conv-round-9-announce", round_id=ROUND_ID, matches=[match]
        )
        return await self.ask_in_any_form("notify_round", announcement, None, self.sign_manager_token())

    async def _is_match_fetched(self, match_id: str, order: Mapping[str, Any]) -> bool:
        """Whether the referee fetches this match from its manager and starts it."""
        boss = self.registered_manager
        boss.waiting_matches[match_id] = order
        await boss.wait_until(lambda: self.agent_id in boss.polls or boss.poll_refusal, BEGIN_SECONDS)
        limit = self.options.match_seconds if self.agent_id in boss.polls else 0  # its polling interval is unknown
        if await self.players[0].wait_for_calls("handle_game_invitation", limit, match_id=match_id):
            return True
        del boss.waiting_matches[match_id]
        return False

    def _make_fetched_exchange(self, order: Mapping[str, Any]) -> Exchange:
        """Make the exchange that replaces the answer to START_MATCH if the referee fetches its matches."""
        reply = ProbeReply(HTTPStatus.OK, "application/json", b"", 0.0)
        return Exchange(
            POLL_METHOD, order, self.call_form, f"nothing: the referee asks with {POLL_METHOD}", reply, None
        )
