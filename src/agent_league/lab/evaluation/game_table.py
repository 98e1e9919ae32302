"""Playing the games of an evaluation one after the other, with the real referee's match play but no league."""

import hashlib
from random import Random

from agent_league.agent.outbox import Outboxes
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.clock import SystemClock, format_utc
from agent_league.config.models import CircuitBreakerConfig, RetryPolicy, TimeoutConfig
from agent_league.errors import CallFailed, ErrorCode
from agent_league.games.contract import BrokenGame, describe_breakdown
from agent_league.games.draw import create_match_seed
from agent_league.games.registry import Game
from agent_league.http.carrier import Carrier
from agent_league.lab.evaluation.in_process_players import PracticePlayer
from agent_league.lab.evaluation.model import GameEnding, PracticeGame
from agent_league.lab.evaluation.private_league import REFEREE_ID, PracticeReferee
from agent_league.lab.evaluation.transcript import read_player_answers
from agent_league.league.match_tokens import TokenIssuer
from agent_league.model.agents import Role
from agent_league.model.results import Outcome
from agent_league.model.schedule import Pairing
from agent_league.protocol import v2
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.match import Match
from agent_league.referee.play import MatchPlay
from agent_league.referee.requests import RefereeContext

FAIL_LIMIT = CircuitBreakerConfig().failure_threshold
"""Failures in a row after which the circuit breaker opens and a series ends."""
QUICK_RETRY = RetryPolicy(base_delay_sec=0.1)
"""As many attempts as in a league, with shorter delays."""


class PracticeMatchRunner:
    """Plays single games of one player against others, and keeps failure counts between games."""

    def __init__(
        self,
        game: Game,
        league_id: str,
        passes: TokenIssuer,
        carrier: Carrier,
        timeouts: TimeoutConfig,
        seed: str,
        referee: PracticeReferee | None = None,
        failures: dict[str, int] | None = None,
    ) -> None:
        self._game = game
        self._league_id = league_id
        self._match_tokens = passes
        self._seed = seed
        self._id_prefix = f"E{hashlib.sha256(seed.encode()).hexdigest()[:8]}"
        """Prefix of match ids, different for each seed, so that players don't confuse evaluations."""
        self._referee = referee
        self._clock = SystemClock()
        self._failures_in_a_row = {} if failures is None else failures
        """Failed calls in a row by player, carried from game to game."""
        self._timed_out_players: list[str] = []
        """Players whose notifications timed out, in the current game."""
        self._referee_context = RefereeContext(
            peer_client=PeerClient(carrier),
            outboxes=Outboxes(self._note_timeout),
            timeouts=timeouts,
            retry=QUICK_RETRY,
            failure_threshold=FAIL_LIMIT,
            rng=Random(seed),  # noqa: S311 - jitter
        )

    def describe_game(self, play: MatchPlay, player: PracticePlayer) -> PracticeGame:
        """Describe the match that was played last, from this player's side."""
        heard = read_player_answers(play, player.player_id, REFEREE_ID, self._clock)
        ending, how = _find_ending(play, player.player_id)
        seat = play.match.players.index(player.player_id)
        return PracticeGame(
            match_id=play.match.match_id,
            seat=seat,
            ending=ending,
            how=how,
            payoff=self.read_payoff(play.match, seat),
            seconds=heard.seconds,
            timeouts=heard.timeouts + self._timed_out_players.count(player.player_id),
            faults=heard.faults,
        )

    async def play_match(self, player: PracticePlayer, other: PracticePlayer, round_id: int, number: int) -> MatchPlay:
        """Play one match and return all of it; sides alternate with its number. BrokenGame if the game's rules fail."""
        sides = (player, other) if number % 2 else (other, player)
        order = self._make_start_match(sides, round_id, number)
        seed = create_match_seed(self._seed, order.league_id, order.match_id)
        play = MatchPlay(order, self._game, REFEREE_ID, self._referee_context, self._clock, seed)
        self._timed_out_players.clear()
        if self._referee:
            self._referee.match_play = play
        try:
            await play.play()
        except Exception as error:  # a fault in a game's rules, which may be anybody's
            problem = describe_breakdown(self._game, error)
            await play.abort(problem)
            raise BrokenGame(problem) from error
        self._failures_in_a_row.update(play.failure_counts)
        return play

    def is_breaker_open(self, player: PracticePlayer) -> bool:
        """Whether so many calls in a row failed that the circuit breaker is open."""
        return self._failures_in_a_row.get(player.player_id, 0) >= FAIL_LIMIT

    async def announce_games(
        self,
        player: PracticePlayer,
        other: PracticePlayer,
        round_id: int,
        numbers: range,
        receiver: PracticePlayer | None = None,
    ) -> None:
        """Send a running v2 player, the first or the `receiver`, the next games, with the referee's address."""
        receiver = receiver or player
        if self._referee is None or receiver.protocol == PROTOCOL_V1:
            return
        matches = [
            {
                "match_id": self._make_match_id(round_id, number),
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
            conversation_id=f"conv-{self._id_prefix.lower()}-round-{round_id}",
            league_id=self._league_id,
            round_id=round_id,
            matches=matches,
        )
        limit, bearer = (
            self._referee_context.answer_timeout("notify_round", receiver.protocol),
            self._match_tokens.get_call_token(receiver.player_id),
        )
        call = PeerCall("notify_round", message.to_wire())

        async def send() -> object:
            return await self._referee_context.peer_client.send_notice(
                receiver.endpoint, call, limit, bearer, insist=False
            )

        self._referee_context.outboxes.post_notice(receiver.player_id, send)
        await self._referee_context.outboxes.wait_until_delivered([receiver.player_id])

    async def close(self) -> None:
        await self._referee_context.outboxes.close()

    def _make_start_match(
        self, sides: tuple[PracticePlayer, PracticePlayer], round_id: int, number: int
    ) -> v2.StartMatch:
        match_id = self._make_match_id(round_id, number)
        a, b = sides
        passes = self._match_tokens.issue_match_tokens(
            Pairing(match_id, round_id, a.player_id, b.player_id), REFEREE_ID
        )
        entered = [
            one.to_match_player(passes.tokens_by_player[one.player_id], self._failures_in_a_row.get(one.player_id, 0))
            for one in sides
        ]
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

    def _make_match_id(self, round_id: int, number: int) -> str:
        return f"{self._id_prefix}R{round_id}M{number}"

    def read_payoff(self, match: Match, seat: int) -> float | None:
        """Read what the player of this seat has in the end; None if only winning counts, or somebody failed."""
        over = self._game.payoffs and not match.terminations and not self._game.rules.actors(match.position)
        return float(self._game.rules.returns(match.position)[seat]) if over else None

    def _note_timeout(self, player_id: str, error: CallFailed | None) -> None:
        if error is not None and error.code is ErrorCode.TIMEOUT_ERROR:
            self._timed_out_players.append(player_id)


def _find_ending(play: MatchPlay, player_id: str) -> tuple[GameEnding, str]:
    """Return how a game ended for a player, and the kind of a technical loss."""
    verdict, failed = play.verdict, play.match.terminations
    if player_id in failed:
        return GameEnding.TECHNICAL_LOSS, str(failed[player_id])
    if failed or verdict is None:
        return GameEnding.WALKOVER, ""
    if verdict.outcome is Outcome.DRAW:
        return GameEnding.DRAW, ""
    return (GameEnding.WIN if verdict.winner == player_id else GameEnding.LOSS), ""
