"""A referee under check, the checker's manager and both players, and the matches that are played."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from agent_league.check.fields import look_up
from agent_league.check.http_probe import Probe, Reply
from agent_league.check.listener import Incoming
from agent_league.check.notices import join_hint, notice, standings_update
from agent_league.check.scripted_agents import Behaviour, StandInManager, StandInPlayer
from agent_league.check.steps import Skip
from agent_league.check.subject import Bench, Exchange, GoodCall, Options
from agent_league.league.messages import in_words_of_others
from agent_league.league.reports import report_in
from agent_league.model.agents import Role
from agent_league.model.schedule import Pairing
from agent_league.protocol import v2
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import POLL, styles_for
from agent_league.protocol.version import PROTOCOL_V2

ROUND = 9
BEGIN_SECONDS = 5.0
"""How long a referee has to invite the players of a match; after that it did not understand the order."""


@dataclass(frozen=True, slots=True)
class Played:
    """A match that was assigned to the referee, and the calls that players and manager received."""

    match_id: str
    order: Mapping[str, Any]
    started: Exchange
    players: tuple[StandInPlayer, StandInPlayer]
    manager: StandInManager

    def heard(self, method: str, side: int) -> list[Incoming]:
        return self.players[side].calls(method, match_id=self.match_id)

    def result(self, side: int = 0) -> Mapping[str, Any] | None:
        """Return the `game_result` that a player received with GAME_OVER, or None."""
        told = self.heard("notify_match_result", side)
        found = told[0].message.get("game_result") if told else None
        return found if isinstance(found, dict) else None

    @property
    def report(self) -> Mapping[str, Any] | None:
        """The report that the manager received, or the one inside the reply to START_MATCH; None if there is none."""
        calls = self.manager.calls("report_match_result", match_id=self.match_id)
        if calls:
            return calls[0].message
        body = self.started.body
        inside = body.get("result") if isinstance(body, dict) else None
        return inside if isinstance(inside, dict) and "result" in inside else report_in(body)

    @property
    def is_report_in_reply(self) -> bool:
        """Whether the report came inside the reply to START_MATCH, and not as a call."""
        calls = self.manager.calls("report_match_result", match_id=self.match_id)
        return not calls and self.report is not None

    async def is_over(self, limit: float) -> bool:
        """Wait until both players have the result and the manager the report; return whether they do in time."""
        try:
            async with asyncio.timeout(limit):
                for player in self.players:
                    await player.hears("notify_match_result", limit, match_id=self.match_id)
                if self.report is None:
                    await self.manager.hears("report_match_result", limit, match_id=self.match_id)
        except TimeoutError:
            return False
        return self.report is not None and all(self.result(side) is not None for side in (0, 1))


class RefereeBench(Bench):
    """A referee under check; assigns matches to it as its manager."""

    role = Role.REFEREE

    def __init__(self, probe: Probe, options: Options, key: SigningKey, manager: StandInManager | None) -> None:
        super().__init__(probe, options, key, manager)
        self.agent_id = "REF01"
        self.servers = self.players = (StandInPlayer("P01"), StandInPlayer("P02"))
        self.matches: dict[str, Played] = {}
        """Name of the test -> its match; the first match is `first`."""
        self.by_announcement = False
        """Whether the referee starts its matches when a round is announced."""
        self.by_poll = False
        """Whether the referee fetches its matches from the manager."""
        self._count = 0

    @property
    def max_matches(self) -> int:
        """How many matches the referee takes at once, by its registration."""
        said = look_up(self.registration.message, "referee_meta.max_concurrent_matches") if self.registration else 1
        return said if isinstance(said, int) and said > 0 else 1

    @property
    def unjudged(self) -> str:
        if self.matches:
            return ""
        if self.registration is None:
            why = "no match was played, because it has not registered with the checker as a referee"
            return f"{why}: {join_hint(self)} (if it is none, without --role)"
        if self.registration.method != "register_referee":
            return "no match was played, and it registered as a player: check it with --role player"
        return "no match was played: mend what failed at start_match first"

    def good_call(self) -> GoodCall:
        return GoodCall("update_standings", standings_update(self, "P01", "P02"), None, self.manager_bearer())

    def is_good(self, exchange: Exchange) -> bool:
        return exchange.acknowledged or (exchange.unknown_method and exchange.reply.status == 200)

    def order(self, match_id: str) -> dict[str, Any]:
        a, b = self.players
        token = self.passes.for_match(Pairing(match_id, ROUND, a.player_id, b.player_id), self.agent_id).shared
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
            **self.envelope("league_manager", f"conv-{match_id.lower()}-001"),
            league_id=self.league_id,
            round_id=ROUND,
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
        return {**order, **in_words_of_others(self.agent_id, seats["player_A"], seats["player_B"])}

    @property
    def boss(self) -> StandInManager:
        if self.manager is None or self.registration is None:
            raise Skip("the referee has not registered with the checker, so its reports would go to somebody else")
        return self.manager

    def next_id(self) -> str:
        self._count += 1
        return f"R9M{self._count}"

    async def start(self, a: Behaviour, b: Behaviour) -> Played:
        """Assign a new match to the referee, in which the players behave like this."""
        boss, match_id = self.boss, self.next_id()
        for player, behaviour in zip(self.players, (a, b), strict=True):
            player.behaviours[match_id] = behaviour
        order = self.order(match_id)
        exchange = await self._give(match_id, order)
        return Played(match_id, order, exchange, self.players, boss)

    def played(self, name: str) -> Played:
        if name not in self.matches:
            raise Skip("no match came to its end that could be looked at")
        return self.matches[name]

    async def _order(self, match_id: str, order: Mapping[str, Any]) -> Exchange:
        """Send START_MATCH in the call form that starts the match; return the first exchange if none does."""
        bearer = self.manager_bearer()
        if "start_match" in self.styles:
            return await self.ask("start_match", order, bearer=bearer)
        first: Exchange | None = None
        for style in styles_for("start_match", PROTOCOL_V2, self.style.name):
            exchange = await self.ask("start_match", order, style=style, bearer=bearer)
            if exchange.league_error is not None:
                return exchange
            if exchange.acknowledged and await self._begun(match_id):
                self.styles["start_match"] = self.style = style
                self.note(exchange)
                return exchange
            first = first or exchange
        if first is None:
            raise Skip("no style has a name for start_match")
        return first

    async def _begun(self, match_id: str) -> bool:
        return bool(await self.players[0].hears("handle_game_invitation", BEGIN_SECONDS, match_id=match_id))

    def need_orders(self) -> None:
        """Skip the step if the referee takes no START_MATCH."""
        if self.by_poll:
            raise Skip(f"the referee takes no orders: it fetches its matches with `{POLL}`")

    async def _give(self, match_id: str, order: Mapping[str, Any]) -> Exchange:
        """Assign a match by START_MATCH, by ROUND_ANNOUNCEMENT or in the answer to a poll, whichever starts it."""
        if self.by_poll:
            self.boss.waiting_matches[match_id] = order
            return self._write_fetched(order)
        exchange = self.kept["start"] if self.by_announcement else await self._order(match_id, order)
        if "start_match" in self.styles or exchange.league_error is not None:
            return exchange
        if self.agent_id not in self.boss.polls:
            announced = await self._announce(order)
            if announced.acknowledged and await self._begun(match_id):
                self.by_announcement = True
                self.noted.append("started by ROUND_ANNOUNCEMENT")
                return announced
        if await self._is_fetched(match_id, order):
            self.by_poll = True
            self.noted.append(f"matches fetched by {POLL}")
            return self._write_fetched(order)
        return exchange

    async def _announce(self, order: Mapping[str, Any]) -> Exchange:
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
        announcement = notice(self, v2.RoundAnnouncement, "conv-round-9-announce", round_id=ROUND, matches=[match])
        return await self.learn("notify_round", announcement, None, self.manager_bearer())

    async def _is_fetched(self, match_id: str, order: Mapping[str, Any]) -> bool:
        """Whether the referee fetches this match from its manager and starts it."""
        boss = self.boss
        boss.waiting_matches[match_id] = order
        await boss.until(lambda: self.agent_id in boss.polls or boss.refused_poll, BEGIN_SECONDS)
        limit = self.options.match if self.agent_id in boss.polls else 0  # its polling interval is unknown
        if await self.players[0].hears("handle_game_invitation", limit, match_id=match_id):
            return True
        del boss.waiting_matches[match_id]
        return False

    def _write_fetched(self, order: Mapping[str, Any]) -> Exchange:
        """Make the exchange that replaces the answer to START_MATCH if the referee fetches its matches."""
        reply = Reply(HTTPStatus.OK, "application/json", b"", 0.0)
        return Exchange(POLL, order, self.style, f"nothing: the referee asks with {POLL}", reply, None)
