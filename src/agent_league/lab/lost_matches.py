"""Which matches of a league were lost because the place of an agent was, so that they are played again. Pure.

The launcher says which agents' places were lost, and which of them still answer; the manager's events say the rest.
"""

from collections.abc import Collection, Iterable, Iterator

from agent_league.model.events import AgentRegistered, Event, MatchFinished, MatchReplaced
from agent_league.model.results import UNREPORTED_KEY, MatchResult, Termination

SILENCE = frozenset(
    {
        Termination.DECLINED,
        Termination.JOIN_TIMEOUT,
        Termination.MOVE_TIMEOUT,
        Termination.DISCONNECTED,
        Termination.UNREADABLE_ANSWER,
        Termination.BAD_TOKEN,
        Termination.SUSPENDED,
    }
)
"""Endings of a player that was gone, that the league has suspended for it, or that came back in the middle of a match
and doesn't know it."""


class LostMatches:
    """Follows a league. A match is lost with a place if an agent of that place failed in it while it was away.

    So is one in which it failed after its return, before it has finished any other: that match may have begun before.
    But a match that is a second one already has begun after the return of both.
    """

    def __init__(self) -> None:
        self._unexplained: dict[str, tuple[frozenset[str], MatchResult]] = {}
        """Results with the agents that failed, of which it isn't known whether their places were lost."""
        self._away: set[str] = set()
        self._returned: set[str] = set()
        """Agents that are back, and have finished no match since."""
        self._waiting: dict[str, tuple[str, ...]] = {}
        """Matches to be played again, once these players are there."""
        self._asked: set[str] = set()
        """Matches that the manager was asked to have played again."""
        self._again: set[str] = set()
        """Those that are played instead."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing has to be found out, asked for or waited for."""
        return not (self._unexplained or self._waiting or self._asked)

    def list_unexplained(self, agents: Collection[str]) -> list[str]:
        """Return the matches in which one of these failed, and may have failed with its place."""
        return [match_id for match_id, (failed, _) in self._unexplained.items() if not failed.isdisjoint(agents)]

    def note_answer(self, matches: Iterable[str]) -> None:
        """Take note that the place of those who failed in these matches has answered since: it was there."""
        for match_id in matches:
            self._unexplained.pop(match_id, None)

    def note_loss(self, agents: Collection[str]) -> None:
        """Take note that the place of these agents was lost, and that they are started at another."""
        self._away.update(agents)
        self._returned.difference_update(agents)
        for match_id in self.list_unexplained(agents):
            _, result = self._unexplained.pop(match_id)
            self._waiting[match_id] = result.players

    def note_event(self, event: Event | None) -> None:
        """Take note of what the manager says."""
        if isinstance(event, AgentRegistered) and event.returned and event.agent_id in self._away:
            self._away.discard(event.agent_id)
            self._returned.add(event.agent_id)
        elif isinstance(event, MatchReplaced):
            self._asked.discard(event.match_id)
            self._asked.add(event.pairing.match_id)
            self._again.add(event.pairing.match_id)
        elif isinstance(event, MatchFinished):
            self._note_result(event.result)

    def take_ready(self) -> Iterator[str]:
        """Yield the matches whose players are back: they are to be played again now."""
        for match_id in [name for name, players in self._waiting.items() if self._away.isdisjoint(players)]:
            del self._waiting[match_id]
            self._asked.add(match_id)
            yield match_id

    def give_up(self, match_id: str) -> None:
        """Take note that a match can't be played again."""
        self._asked.discard(match_id)

    def _note_result(self, result: MatchResult) -> None:
        match_id = result.match_id
        self._asked.discard(match_id)
        failed = frozenset(_list_failed(result))
        suspects = self._away if match_id in self._again else self._away | self._returned
        if not failed.isdisjoint(suspects):
            self._waiting[match_id] = result.players
        elif failed:
            self._unexplained[match_id] = (failed, result)
        self._returned.difference_update(set(result.players) - failed)


def _list_failed(result: MatchResult) -> Iterator[str]:
    """Yield the players that fell silent in a match, and the referee that never reported it."""
    yield from (player for player, how in result.terminations.items() if how in SILENCE)
    if referee := result.details.get(UNREPORTED_KEY):
        yield str(referee)
