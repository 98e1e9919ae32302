"""Checks a result against what the referee committed to before the match and what this player answered in it."""

from collections.abc import Collection
from dataclasses import dataclass, field

from agent_league.games.fairness import find_draw_problem, find_seed_problem
from agent_league.games.registry import is_from_source
from agent_league.players.observation import Move
from agent_league.protocol import v2

MAX_MATCHES = 1000
MAX_ASKERS = 8
MAX_ANSWERS = 10_000
"""Per match; if there are more, they aren't compared."""


@dataclass(slots=True)
class _MatchMemo:
    invitation: v2.GameInvitation
    answers: dict[int, Move] = field(default_factory=dict)


class ResultChecker:
    """Records invitations and answers of the latest matches, and checks results against them."""

    def __init__(self) -> None:
        self._memos_by_match: dict[str, _MatchMemo] = {}
        self._announced_opponents: dict[str, str] = {}
        """Match id -> this player's opponent, as announced by the manager."""
        self._asked_matches: set[str] = set()
        """Matches in which a foreign referee (one that commits to no draw) has asked its question."""

        self._askers_by_match: dict[str, set[str]] = {}
        """Match id -> machines that sent questions; only recorded under a foreign manager."""

    def record_asker(self, match_id: str, machine: str | None) -> None:
        """Record a machine that sent a question in a match; None is ignored."""
        if machine is None:
            return
        askers = self._askers_by_match.setdefault(match_id, set())
        if len(askers) < MAX_ASKERS:
            askers.add(machine)
        if len(self._askers_by_match) > MAX_MATCHES:
            del self._askers_by_match[next(iter(self._askers_by_match))]

    def find_askers(self, match_id: str) -> Collection[str]:
        """Return the machines that sent questions in a match; its result must come from one of them."""
        return self._askers_by_match.get(match_id, ())

    def __len__(self) -> int:
        """The number of matches with a recorded invitation."""
        return len(self._memos_by_match)

    def record_announcement(self, round_: v2.RoundAnnouncement, player_id: str) -> None:
        """Record the announced opponents: if one is suspended, its match gets a result without an invitation."""
        for match in round_.matches:
            players = (match.player_A_id, match.player_B_id)
            if player_id in players:
                self._announced_opponents.pop(match.match_id, None)
                self._announced_opponents[match.match_id] = players[players[0] == player_id]
        while len(self._announced_opponents) > MAX_MATCHES:
            del self._announced_opponents[next(iter(self._announced_opponents))]

    def find_opponent(self, match_id: str) -> str | None:
        """Return the opponent in a match by its invitation, else by its announcement."""
        invitation = self.find_invitation(match_id)
        return (invitation.opponent_id if invitation else None) or self._announced_opponents.get(match_id)

    def record_invitation(self, invitation: v2.GameInvitation) -> bool:
        """Record an invitation; True if the match is new, or is replayed (under another token)."""
        known = self._memos_by_match.get(invitation.match_id)
        if known is not None and known.invitation.auth_token == invitation.auth_token:
            return False
        self._memos_by_match.pop(invitation.match_id, None)
        self._memos_by_match[invitation.match_id] = _MatchMemo(invitation)
        if len(self._memos_by_match) > MAX_MATCHES:
            del self._memos_by_match[next(iter(self._memos_by_match))]
        return True

    def record_answer(self, match_id: str, step: int, move: Move) -> None:
        """Record the move that was sent at a step of a match."""
        memo = self._memos_by_match.get(match_id)
        if memo and len(memo.answers) < MAX_ANSWERS:
            memo.answers[step] = move

    def is_repeated_by_foreign_referee(self, call: v2.ChooseParityCall) -> bool:
        """Whether a foreign referee repeats its question; referees of ours are known by their draw commitment."""
        invitation = self.find_invitation(call.match_id)
        promised = (invitation and invitation.draw_commitment) or (call.context and call.context.draw_commitment)
        if promised:
            return False
        if call.match_id in self._asked_matches:
            return True
        if len(self._asked_matches) >= MAX_MATCHES:
            self._asked_matches.clear()
        self._asked_matches.add(call.match_id)
        return False

    def find_invitation(self, match_id: str) -> v2.GameInvitation | None:
        """Return the recorded invitation to a match; later messages may have fewer fields."""
        memo = self._memos_by_match.get(match_id)
        return memo.invitation if memo else None

    def find_problem(self, over: v2.GameOver, player_id: str) -> str | None:
        """Describe what is wrong with a result in a sentence; None if nothing is, or it can't be checked."""
        memo = self._memos_by_match.get(over.match_id)
        if memo is None or over.game_result.status == "TECHNICAL_LOSS":
            return None
        return _find_choice_problem(memo, over, player_id) or _find_draw_problem(memo.invitation, over, player_id)


def _find_choice_problem(memo: _MatchMemo, over: v2.GameOver, player_id: str) -> str | None:
    told = (over.game_result.choices or {}).get(player_id)
    answers = [memo.answers[step] for step in sorted(memo.answers)]
    if (
        not answers
        or len(answers) >= MAX_ANSWERS
        or told is None
        or told == answers
        or (len(answers) == 1 and told == answers[0])
    ):
        return None
    return f"it says that we chose {told!r:.80}, but we chose {answers!r:.80}"


def _find_draw_problem(invitation: v2.GameInvitation, over: v2.GameOver, player_id: str) -> str | None:
    if invitation.opponent_id is None or invitation.role_in_match is None:
        return None
    players, game_type = (player_id, invitation.opponent_id), over.game_type or "even_odd"
    if is_from_source(game_type):  # loading its library and replaying the match may take long
        return find_seed_problem(invitation.draw_commitment, over.draw_seed)
    return find_draw_problem(
        game_type=game_type,
        parameters=invitation.game_parameters,
        players=players if invitation.role_in_match == "PLAYER_A" else players[::-1],
        promised=invitation.draw_commitment,
        seed=over.draw_seed,
        result=over.game_result.model_dump(),
    )
