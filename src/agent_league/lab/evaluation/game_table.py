"""Playing the games of an evaluation one after the other, with the real referee's match play but no league."""

import hashlib
from random import Random

from agent_league.agent.outbox import Outboxes
from agent_league.agent.peer_client import Call, Manners
from agent_league.clock import SystemClock, format_utc
from agent_league.config.models import CircuitBreaker, RetryPolicy, Timeouts
from agent_league.errors import CallFailed, ErrorCode
from agent_league.games.game_trial import BrokenGame, breakdown
from agent_league.games.registry import Game
from agent_league.http.carrier import Carrier
from agent_league.lab.evaluation.in_process_players import Entrant
from agent_league.lab.evaluation.model import Ending, PracticeGame
from agent_league.lab.evaluation.private_league import REFEREE, PracticeReferee
from agent_league.lab.evaluation.transcript import heard_of
from agent_league.league.match_tokens import Passes
from agent_league.model.agents import Role
from agent_league.model.results import Outcome
from agent_league.model.schedule import Pairing
from agent_league.protocol import v2
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.match import Match
from agent_league.referee.play import MatchPlay
from agent_league.referee.requests import Desk

FAILURES = CircuitBreaker().failure_threshold
"""Failures in a row after which the circuit breaker opens and a series ends."""
QUICKLY = RetryPolicy(base_delay_sec=0.1)
"""As many attempts as in a league, with shorter delays."""


class PracticeTable:
    """Plays single games of one player against others, and keeps failure counts between games."""

    def __init__(
        self,
        game: Game,
        league_id: str,
        passes: Passes,
        carrier: Carrier,
        timeouts: Timeouts,
        seed: str,
        referee: PracticeReferee | None = None,
    ) -> None:
        self._game = game
        self._league_id = league_id
        self._passes = passes
        self._seed = seed
        self._tag = f"E{hashlib.sha256(seed.encode()).hexdigest()[:8]}"
        """Prefix of match ids, different for each seed, so that players don't confuse evaluations."""
        self._referee = referee
        self._clock = SystemClock()
        self._failures: dict[str, int] = {}
        """Failed calls in a row by player, carried from game to game."""
        self._missed: list[str] = []
        """Players whose notifications timed out, in the current game."""
        self._desk = Desk(
            manners=Manners(carrier),
            outboxes=Outboxes(self._note),
            timeouts=timeouts,
            retry=QUICKLY,
            failure_threshold=FAILURES,
            rng=Random(seed),  # noqa: S311 - jitter
        )

    async def play(self, player: Entrant, other: Entrant, round_id: int, number: int) -> PracticeGame:
        """Play one game; sides alternate with its number. BrokenGame if the game's rules fail."""
        sides = (player, other) if number % 2 else (other, player)
        order = self._order(sides, round_id, number)
        play = MatchPlay(order, self._game, REFEREE, self._desk, self._clock, self._seed)
        self._missed.clear()
        if self._referee:
            self._referee.play = play
        try:
            await play.play()
        except Exception as error:  # a fault in a game's rules, which may be anybody's
            problem = breakdown(self._game, error)
            await play.abort(problem)
            raise BrokenGame(problem) from error
        self._failures.update(play.failures)
        heard = heard_of(play, player.player_id, REFEREE, self._clock)
        ending, how = _ending(play, player.player_id)
        return PracticeGame(
            match_id=play.match.match_id,
            seat=sides.index(player),
            ending=ending,
            how=how,
            payoff=self._payoff(play.match, sides.index(player)),
            seconds=heard.seconds,
            timeouts=heard.timeouts + self._missed.count(player.player_id),
            faults=heard.faults,
        )

    def is_open(self, player: Entrant) -> bool:
        """Whether so many calls in a row failed that the circuit breaker is open."""
        return self._failures.get(player.player_id, 0) >= FAILURES

    async def announce(self, player: Entrant, other: Entrant, round_id: int, numbers: range) -> None:
        """Send a running v2 player the announcement of the next games, with the referee's address."""
        if self._referee is None or player.protocol == PROTOCOL_V1:
            return
        matches = [
            {
                "match_id": self._match_id(round_id, number),
                "game_type": self._game.game_type,
                "player_A_id": (player if number % 2 else other).player_id,
                "player_B_id": (other if number % 2 else player).player_id,
                "referee_endpoint": self._referee.endpoint,
            }
            for number in numbers
        ]
        message = v2.RoundAnnouncement.write(
            sender=str(Role.LEAGUE_MANAGER),
            timestamp=format_utc(self._clock.now()),
            conversation_id=f"conv-{self._tag.lower()}-round-{round_id}",
            league_id=self._league_id,
            round_id=round_id,
            matches=matches,
        )
        limit, bearer = self._desk.limit("notify_round", player.protocol), self._passes.for_call(player.player_id)
        call = Call("notify_round", message.to_wire())

        async def send() -> object:
            return await self._desk.manners.tell(player.endpoint, call, limit, bearer, insist=False)

        self._desk.outboxes.post(player.player_id, send)
        await self._desk.outboxes.settled([player.player_id])

    async def close(self) -> None:
        await self._desk.outboxes.close()

    def _order(self, sides: tuple[Entrant, Entrant], round_id: int, number: int) -> v2.StartMatch:
        match_id = self._match_id(round_id, number)
        a, b = sides
        passes = self._passes.for_match(Pairing(match_id, round_id, a.player_id, b.player_id), REFEREE)
        entered = [one.enters(passes.by_player[one.player_id], self._failures.get(one.player_id, 0)) for one in sides]
        return v2.StartMatch.write(
            sender=str(Role.LEAGUE_MANAGER),
            timestamp=format_utc(self._clock.now()),
            conversation_id=f"conv-{match_id.lower()}-001",
            league_id=self._league_id,
            round_id=round_id,
            match_id=match_id,
            game_type=self._game.game_type,
            player_A=entered[0],
            player_B=entered[1],
        )

    def _match_id(self, round_id: int, number: int) -> str:
        return f"{self._tag}R{round_id}M{number}"

    def _payoff(self, match: Match, seat: int) -> float | None:
        over = self._game.payoffs and not match.terminations and not self._game.rules.actors(match.position)
        return float(self._game.rules.returns(match.position)[seat]) if over else None

    def _note(self, player_id: str, error: CallFailed | None) -> None:
        if error is not None and error.code is ErrorCode.TIMEOUT_ERROR:
            self._missed.append(player_id)


def _ending(play: MatchPlay, player_id: str) -> tuple[Ending, str]:
    """Return how a game ended for a player, and the kind of a technical loss."""
    verdict, failed = play.verdict, play.match.terminations
    if player_id in failed:
        return Ending.TECHNICAL_LOSS, str(failed[player_id])
    if failed or verdict is None:
        return Ending.WALKOVER, ""
    if verdict.outcome is Outcome.DRAW:
        return Ending.DRAW, ""
    return (Ending.WIN if verdict.winner == player_id else Ending.LOSS), ""
