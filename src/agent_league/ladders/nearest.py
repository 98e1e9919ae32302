"""The default ladder: requests, then newcomers with house bots, then nearest ratings, the longest waiting first."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from agent_league.ladders.base import FreePlayer, LadderPairing, LadderSituation
from agent_league.ladders.settings import check_number


@dataclass(frozen=True, slots=True)
class Nearest:
    """Pairs players of similar ratings who haven't met recently; who waits longest chooses first."""

    name: ClassVar[str] = "nearest"

    meeting_elo: float = 50.0
    """By how much each recent meeting of two players makes them seem further apart, in Elo."""
    house_games: int = 2
    """Matches against house bots with which a newcomer begins, as many of them as there are bots to meet."""

    def __post_init__(self) -> None:
        check_number(self.name, "meeting_elo", self.meeting_elo)
        check_number(self.name, "house_games", self.house_games, whole=True)

    def next_pairings(self, situation: LadderSituation) -> Sequence[LadderPairing]:
        pairings: list[LadderPairing] = []
        most = len(situation.players) if situation.max_pairings is None else situation.max_pairings
        for pairing in _Draft(self, situation).pair_all():
            if len(pairings) >= most:
                break
            pairings.append(pairing)
        return pairings


class _Draft:
    """One call: who is still free."""

    def __init__(self, ladder: Nearest, situation: LadderSituation) -> None:
        self._ladder = ladder
        self._situation = situation
        self._players = {player.player_id: player for player in situation.players}
        self._slots = Counter({player.player_id: player.slots for player in situation.players})
        self._pool = {one.player_id: one for one in situation.players if one.is_due and not one.is_house}
        """Those who still get a match by themselves."""
        self._lots: dict[str, bytes] = {}

    def pair_all(self) -> Iterator[LadderPairing]:
        yield from self._pair_requests()
        yield from self._pair_newcomers()
        for player in self._list_by_waiting():
            if player.player_id in self._pool and (pairing := self._pair_nearest(player)):
                yield pairing

    def _pair_requests(self) -> Iterator[LadderPairing]:
        for request in self._situation.requests:
            one, other = (self._players.get(player_id) for player_id in request.players)
            if one and other and self._may_meet(one, other):
                yield self._pair(one, other, f"{one.player_id} asked for a match against {other.player_id}", True)

    def _pair_newcomers(self) -> Iterator[LadderPairing]:
        """Let newcomers meet house bots at once, a bot that they haven't met first."""
        for player in self._list_by_waiting():
            if player.player_id not in self._pool or player.games >= self._ladder.house_games:
                continue
            bot = self._choose_house_bot(player)
            if bot and not self._situation.count_meetings(player.player_id, bot.player_id):
                yield self._pair(player, bot, f"{player.player_id} is new and begins with the house bots")

    def _pair_nearest(self, player: FreePlayer) -> LadderPairing | None:
        """Pair a player with the nearest one; with a house bot if there is nobody, or only its last opponent."""
        rivals = [other for other in self._pool.values() if self._may_meet(player, other)]
        fresh = [other for other in rivals if not _met_last(player, other)]
        if not fresh:
            bot = self._choose_house_bot(player)
            if bot and not (rivals and bot.player_id == player.last_opponent):
                return self._pair(player, bot, f"{player.player_id}: {_explain_house_bot(player)}")
        if not rivals:
            return None
        other = min(fresh or rivals, key=lambda one: self._measure_distance(player, one))
        met = self._situation.count_meetings(player.player_id, other.player_id)
        apart = f"{abs(player.rating - other.rating):.0f} Elo apart"
        times = f"met {met} time{'' if met == 1 else 's'} recently" if met else "not met recently"
        return self._pair(player, other, f"nearest ratings: {apart}, {times}")

    def _measure_distance(self, player: FreePlayer, other: FreePlayer) -> tuple[float, float, bytes]:
        met = self._situation.count_meetings(player.player_id, other.player_id)
        distance = abs(player.rating - other.rating) + met * self._ladder.meeting_elo
        return (distance, -other.waiting_sec, self._draw_lot(other.player_id))

    def _choose_house_bot(self, player: FreePlayer) -> FreePlayer | None:
        """The house bot that a player met least, and of those the nearest."""
        bots = [one for one in self._players.values() if one.is_house and self._may_meet(player, one)]
        return min(
            bots,
            default=None,
            key=lambda bot: (
                bot.player_id == player.last_opponent,
                self._situation.count_meetings(player.player_id, bot.player_id),
                abs(player.rating - bot.rating),
                self._draw_lot(bot.player_id),
            ),
        )

    def _may_meet(self, one: FreePlayer, other: FreePlayer) -> bool:
        """Whether two players are free for each other."""
        if one.player_id == other.player_id or not (self._slots[one.player_id] and self._slots[other.player_id]):
            return False
        if one.is_house or other.is_house:
            return one.is_house != other.is_house
        return not one.only_house and not other.only_house

    def _pair(self, one: FreePlayer, other: FreePlayer, reason: str, is_requested: bool = False) -> LadderPairing:
        for player in (one, other):
            self._slots[player.player_id] -= 1
            if not self._slots[player.player_id]:
                self._pool.pop(player.player_id, None)
        first, second = sorted((one, other), key=self._order_seats)
        return LadderPairing(first.player_id, second.player_id, reason, is_requested)

    def _order_seats(self, player: FreePlayer) -> tuple[int, bytes]:
        """Who had the first seat less often gets it; a house bot's own seats don't matter."""
        return (0 if player.is_house else player.first_seat_surplus, self._draw_lot(player.player_id))

    def _list_by_waiting(self) -> list[FreePlayer]:
        """Those who get a match by themselves, the longest waiting first."""
        return sorted(self._pool.values(), key=lambda one: (-one.waiting_sec, self._draw_lot(one.player_id)))

    def _draw_lot(self, player_id: str) -> bytes:
        if (drawn := self._lots.get(player_id)) is None:
            drawn = self._lots[player_id] = hashlib.sha256(f"{self._situation.lot}/{player_id}".encode()).digest()
        return drawn


def _met_last(one: FreePlayer, other: FreePlayer) -> bool:
    return one.last_opponent == other.player_id or other.last_opponent == one.player_id


def _explain_house_bot(player: FreePlayer) -> str:
    return "meets only house bots until it has passed its check" if player.only_house else "nobody else is free"
