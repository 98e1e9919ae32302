"""The queue of a practice ladder: who waits, who plays, who may be paired now, and why somebody isn't.

Lives as long as the manager; what must survive a restart is in `LadderRecord`. Times are those of the event loop.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from agent_league.clock import Clock, format_utc, parse_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.ladders.base import FreePlayer, LadderPairing, LadderSituation, MatchRequest
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.league.tournament import draw_number
from agent_league.model.agents import AgentState, Role
from agent_league.model.ladder import OpenRequest, QueueEntry
from agent_league.model.schedule import Pairing

HOUR = 3600.0
HOUSE_SLOTS = 16
"""Matches that a house bot plays at the same time."""
MAX_OPEN_REQUESTS = 5
"""Requests of one player that may wait at the same time."""


class LadderQueue:
    """Who waits and who plays."""

    def __init__(self, state: LeagueState, record: LadderRecord, clock: Clock, read_time: Callable[[], float]) -> None:
        self._state = state
        self._record = record
        self._clock = clock
        self._read_time = read_time
        self._started_at = read_time()
        self._due: set[str] = set()
        """Those who get a match by themselves as soon as they can."""
        self._playing: dict[str, dict[str, float]] = {}
        """By player: its matches, and since when."""
        self._waiting_since: dict[str, float] = {}
        self._automatic: dict[str, deque[float]] = {}
        """By player: when it got its matches of the last hour by itself."""
        self._pairing_count = 0
        self.checking: set[str] = set()
        """Those whose check is being made."""
        self.next_tick_at = read_time()
        """When everybody who is free is paired next."""
        self._restore_times()

    def _restore_times(self) -> None:
        now, loop_now = self._clock.now(), self._read_time()
        for match in self._record.matches.values():
            ago = max(0.0, _count_seconds(match.paired_at, now))
            if ago < HOUR and not match.is_requested:
                for player_id in match.versions:
                    self._automatic.setdefault(player_id, deque()).append(loop_now - ago)

    def make_everybody_due(self) -> None:
        """Pair everybody who is free, now or as soon as a referee is."""
        self._due = {player_id for player_id in self._record.players if player_id not in self._playing}
        self._drop_old_requests()

    def begin_match(self, pairing: Pairing, *, is_requested: bool) -> None:
        """Note that two players begin a match."""
        now = self._read_time()
        for player_id in pairing.players:
            self._playing.setdefault(player_id, {})[pairing.match_id] = now
            self._waiting_since.pop(player_id, None)
            self._due.discard(player_id)
            if not is_requested:
                self._automatic.setdefault(player_id, deque()).append(now)

    def end_match(self, pairing: Pairing) -> None:
        """Note that a match is over."""
        for player_id in pairing.players:
            matches = self._playing.get(player_id, {})
            matches.pop(pairing.match_id, None)
            if not matches:
                self._playing.pop(player_id, None)
                self._waiting_since[player_id] = self._read_time()

    def is_playing(self, player_id: str) -> bool:
        return player_id in self._playing

    @property
    def seconds_to_next_tick(self) -> float:
        return max(0.0, self.next_tick_at - self._read_time())

    @property
    def next_tick_utc(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self.seconds_to_next_tick)

    def make_situation(self) -> LadderSituation:
        """Describe who is free now, for the ladder."""
        free = [self._make_free_player(member) for member in self._list_players() if self.find_obstacle(member) is None]
        self._pairing_count += 1
        last = self._find_last_opponents() if free else {}
        by_id = {player.player_id for player in free}
        return LadderSituation(
            [replace(player, last_opponent=last.get(player.player_id)) for player in free],
            self._record.count_recent_meetings() if free else {},
            [MatchRequest(*pair) for pair in self._list_ready_requests() if by_id.issuperset(pair)],
            draw_number(f"{self._state.lot}/{len(self._record.matches)}/{self._pairing_count}"),
            self.count_free_slots(),
        )

    def count_free_slots(self) -> int:
        """How many matches the referees can take now."""
        capacity = sum(
            member.agent.max_concurrent_matches
            for member in self._state.roster.list_members(Role.REFEREE)
            if not member.is_suspended and member.is_reachable
        )
        in_play = len({match_id for matches in self._playing.values() for match_id in matches})
        return max(0, capacity - in_play)

    def accept_pairings(self, pairings: Iterable[LadderPairing], situation: LadderSituation) -> list[LadderPairing]:
        """Leave out pairings that break a rule of the league, whatever a ladder says."""
        slots = Counter({player.player_id: player.slots for player in situation.players})
        free = {player.player_id: player for player in situation.players}
        accepted: list[LadderPairing] = []
        for pairing in pairings:
            one, other = (free.get(player_id) for player_id in pairing.players)
            if one is None or other is None or one is other or (one.is_house and other.is_house):
                continue
            is_barred = (one.only_house and not other.is_house) or (other.only_house and not one.is_house)
            if is_barred or not all(slots[player_id] for player_id in pairing.players):
                continue
            slots.subtract(pairing.players)
            accepted.append(pairing)
        return accepted[: situation.max_pairings]

    def find_obstacle(self, member: Member) -> str | None:  # noqa: PLR0911 - one line for each reason
        """Why a player can't begin a match now; None if it can."""
        player_id, player = member.agent_id, self._record.players.get(member.agent_id)
        if member.is_barred:
            return "withdrawn" if member.is_withdrawn else "suspended by the organiser"
        if member.is_suspended:
            return "doesn't answer: gets matches again once it does"
        if not member.is_reachable:
            return "not reachable yet: gets matches once it can be called"
        if member.state is not AgentState.ACTIVE or player is None:
            return "not active"
        if player_id in self.checking:
            return "is being checked"
        if self.needs_check(player_id):
            return "waits for its check"
        if player.is_house:
            return None if len(self._playing.get(player_id, ())) < HOUSE_SLOTS else "plays as much as it can"
        return "plays" if player_id in self._playing else None

    def needs_check(self, player_id: str) -> bool:
        """Whether the current version of a player has yet to be checked."""
        player = self._record.players.get(player_id)
        if player is None or not self._record.checks_players:
            return False
        return not player.is_house and not player.is_admitted and player.check is None

    def list_entries(self) -> list[QueueEntry]:
        """Where each player stands, who plays first, then the longest waiting."""
        entries = [self._make_entry(member) for member in self._list_players()]
        return sorted(entries, key=lambda entry: (not entry.is_playing, entry.since, entry.player_id))

    def request_match(self, player_id: str, opponent_id: str) -> str:
        """Let a player ask for a match; returns what comes of it as a sentence. Raises a Refusal."""
        if problem := self._find_request_problem(player_id, opponent_id):
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, problem, player_id=player_id, opponent_id=opponent_id)
        now = self._clock.now()
        asked = [at for at in self._record.players[player_id].asked_at if abs(_count_seconds(at, now)) < HOUR]
        limit = self._record.config.requests_per_hour
        if len(asked) >= limit:
            wait = round(HOUR - _count_seconds(asked[0], now))
            told = f"{player_id} has asked for {limit} matches within an hour, which is the limit; wait {wait} s"
            raise Refusal(ErrorCode.RATE_LIMIT_EXCEEDED, told, retry_after_sec=wait)
        back = self._record.requests.get((opponent_id, player_id))
        is_house = self._record.players[opponent_id].is_house
        is_accepted = is_house or back is not None or self._record.config.requests == "automatic"
        if back is not None:
            self._record.drop_request(opponent_id, player_id)
        self._record.note_asked(player_id, [*asked, format_utc(now)])
        self._record.forget_declined(player_id, opponent_id)
        request = OpenRequest(player_id, opponent_id, format_utc(now), is_accepted)
        self._state.request_ladder_match(request)
        when = "is played as soon as both are free" if is_accepted else f"waits until {opponent_id} accepts it"
        return f"The match {player_id} against {opponent_id} {when}."

    def answer_request(self, player_id: str, asker_id: str, *, is_accepted: bool) -> str:
        """Let a player accept or decline the match that another asks it for; returns what comes of it.

        Raises a Refusal if there is no such request any more. Accepting counts against nobody's limit.
        """
        request = self._get_request(asker_id, player_id)
        if not is_accepted:
            self._record.note_declined(request, format_utc(self._clock.now()))
            self._state.drop_ladder_request(request, by_whom=player_id)
            return f"The match against {asker_id} is declined."
        self._state.accept_ladder_request(request)
        return f"The match against {asker_id} is played as soon as both are free."

    def take_back_request(self, player_id: str, opponent_id: str) -> str:
        """Let a player take back its own request; returns what comes of it. Raises a Refusal if there is none."""
        self._state.drop_ladder_request(self._get_request(player_id, opponent_id), by_whom=player_id)
        return f"{player_id} no longer asks {opponent_id} for a match."

    def _get_request(self, player_id: str, opponent_id: str) -> OpenRequest:
        request = self._record.requests.get((player_id, opponent_id))
        if request is None:
            told = f"{player_id} asks {opponent_id} for no match any more: it is played, declined or over an hour old"
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, told)
        return request

    def _find_request_problem(self, player_id: str, opponent_id: str) -> str | None:  # noqa: PLR0911 - one line for each reason
        """Why a player may not ask for this match; None if it may."""
        record, players = self._record, self._record.players
        if record.config.requests == "off":
            return "this ladder takes no requests: it pairs everybody by itself"
        if player_id not in players or players[player_id].is_house:
            return f"{player_id} is no player that may ask for a match"
        if opponent_id == player_id or opponent_id not in players:
            return f"there is no opponent {opponent_id} on this ladder"
        if (player_id, opponent_id) in record.requests:
            return f"{player_id} has asked for this match already, and it waits"
        if sum(one == player_id for one, _ in record.requests) >= MAX_OPEN_REQUESTS:
            return f"{MAX_OPEN_REQUESTS} requests of {player_id} wait already"
        if players[opponent_id].is_house:
            return None
        barred = next((one for one in (player_id, opponent_id) if not record.may_meet_others(one)), None)
        return f"{barred} meets only house bots until it has passed its check" if barred else None

    def _list_players(self) -> list[Member]:
        return self._state.roster.list_members(Role.PLAYER)

    def _make_free_player(self, member: Member) -> FreePlayer:
        player_id = member.agent_id
        player, tally = self._record.players[player_id], self._record.get_tally(player_id)
        return FreePlayer(
            player_id,
            rating=self._record.guess_rating(player_id),
            games=tally.played,
            waiting_sec=self._read_time() - self._waiting_since.get(player_id, self._started_at),
            first_seat_surplus=2 * tally.first_seats - tally.played,
            is_due=self._is_due(player_id, tally.played),
            is_house=player.is_house,
            only_house=not self._record.may_meet_others(player_id),
            slots=HOUSE_SLOTS - len(self._playing.get(player_id, ())) if player.is_house else 1,
        )

    def _is_due(self, player_id: str, played: int) -> bool:
        """Whether a player gets a match by itself: at a tick, or at once if it has played none."""
        has_bots = any(player.is_house for player in self._record.players.values())
        is_new = not played and has_bots
        return (is_new or player_id in self._due) and not self._is_at_limit(player_id)

    def _is_at_limit(self, player_id: str) -> bool:
        if self._record.players[player_id].is_house:
            return False
        times = self._automatic.get(player_id, deque())
        _drop_before(times, self._read_time() - HOUR)
        return len(times) >= self._record.config.matches_per_hour

    def _list_ready_requests(self) -> list[tuple[str, str]]:
        ready = [request for request in self._record.requests.values() if request.is_accepted]
        return [(one.player_id, one.opponent_id) for one in sorted(ready, key=lambda request: request.at)]

    def _drop_old_requests(self) -> None:
        now = self._clock.now()
        for request in list(self._record.requests.values()):
            if _count_seconds(request.at, now) > HOUR:
                self._record.drop_request(request.player_id, request.opponent_id)
        for player in self._record.players.values():
            for opponent_id, at in list(player.declined_by.items()):
                if _count_seconds(at, now) > HOUR:
                    self._record.forget_declined(player.player_id, opponent_id)

    def _find_last_opponents(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for match in reversed(self._record.matches.values()):
            one, other = match.versions
            found.setdefault(one, other)
            found.setdefault(other, one)
        return found

    def _make_entry(self, member: Member) -> QueueEntry:
        player_id = member.agent_id
        matches = self._playing.get(player_id)
        if matches and not self._record.players[player_id].is_house:
            match_id, since = next(iter(matches.items()))
            one, other = self._record.matches[match_id].versions
            opponent = other if one == player_id else one
            return QueueEntry(player_id, True, self._format_since(since), f"plays against {opponent}", match_id)
        since = self._waiting_since.get(player_id, self._started_at)
        return QueueEntry(player_id, False, self._format_since(since), self._describe_wait(member))

    def _format_since(self, since: float) -> str:
        return format_utc(self._clock.now() - timedelta(seconds=self._read_time() - since))

    def _describe_wait(self, member: Member) -> str:  # noqa: PLR0911 - one line for each reason
        """What a player waits for, in words."""
        player_id = member.agent_id
        if obstacle := self.find_obstacle(member):
            return obstacle
        if self._record.players[player_id].is_house:
            playing = len(self._playing.get(player_id, ()))
            return f"plays {playing} match{'' if playing == 1 else 'es'}" if playing else "waits for opponents"
        if self._state.is_on_hold:
            return "the ladder is paused" if self._state.is_paused else "quiet hours: no match begins"
        if asked := self._describe_requests(player_id):
            return asked
        if self._is_at_limit(player_id):
            return f"limit of {self._record.config.matches_per_hour} matches an hour reached"
        if not self.count_free_slots():
            return "waits for a referee"
        if not self._has_opponent(player_id):
            return "nobody else is free"
        if not self._record.may_meet_others(player_id):
            return "meets only house bots, as it hasn't passed its check"
        return "waits for the next automatic pairing"

    def _describe_requests(self, player_id: str) -> str:
        asked = [one.opponent_id for one in self._record.requests.values() if one.player_id == player_id]
        return f"waits for {', '.join(asked)}, whom it asked for a match" if asked else ""

    def _has_opponent(self, player_id: str) -> bool:
        own = self._record.may_meet_others(player_id)
        for member in self._list_players():
            other = member.agent_id
            is_house = other in self._record.players and self._record.players[other].is_house
            meets = is_house or (own and other in self._record.players and self._record.may_meet_others(other))
            if other != player_id and meets and (is_house or self.find_obstacle(member) in (None, "plays")):
                return True
        return False


def _count_seconds(since: str, now: datetime) -> float:
    """The seconds since a stored time."""
    at = parse_utc(since)
    return (now - at).total_seconds() if at else 0.0


def _drop_before(times: "deque[float]", limit: float) -> None:
    while times and times[0] <= limit:
        times.popleft()
