"""Checks a result against what the referee committed to before the match and what this player answered in it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from agent_league.games.fairness import find_draw_problem, find_seed_problem
from agent_league.games.registry import is_from_source
from agent_league.players.observation import Move
from agent_league.protocol import v2
from agent_league.protocol.v2.league import AnnouncedMatch
from agent_league.text import quote

MAX_MATCHES = 1000
MAX_ASKERS = 8
MAX_ANSWERS = 10_000
"""Per match; if there are more, they aren't compared."""


@dataclass(slots=True)
class _MatchMemo:
    """What is known of one match."""

    invitation: v2.GameInvitation | None = None
    answers: dict[int, Move] = field(default_factory=dict)
    """The moves that were sent, by step."""
    announced_opponent: str | None = None
    askers: set[str] = field(default_factory=set)
    """Machines that sent questions; only recorded under a foreign manager."""
    is_asked: bool = False
    """Whether a foreign referee (one that commits to no draw) has asked its question."""


class ResultChecker:
    """Records invitations and answers of the latest matches, and checks results against them."""

    def __init__(self) -> None:
        self._memos_by_match: dict[str, _MatchMemo] = {}

    def record_asker(self, match_id: str, machine: str | None) -> None:
        """Record a machine that sent a question in a match; None is ignored."""
        if machine is not None and len(askers := self._open_memo(match_id).askers) < MAX_ASKERS:
            askers.add(machine)

    def find_askers(self, match_id: str) -> Collection[str]:
        """Return the machines that sent questions in a match; its result must come from one of them."""
        memo = self._memos_by_match.get(match_id)
        return memo.askers if memo else ()

    def __len__(self) -> int:
        """The number of matches with a recorded invitation."""
        return sum(memo.invitation is not None for memo in self._memos_by_match.values())

    def record_announcement(self, own: Iterable[AnnouncedMatch], player_id: str) -> None:
        """Record the announced opponents: if one is suspended, its match gets a result without an invitation."""
        for match in own:
            players = (match.player_A_id, match.player_B_id)
            self._open_memo(match.match_id).announced_opponent = players[players[0] == player_id]

    def find_opponent(self, match_id: str) -> str | None:
        """Return the opponent in a match by its invitation, else by its announcement."""
        memo = self._memos_by_match.get(match_id) or _MatchMemo()
        return (memo.invitation.opponent_id if memo.invitation else None) or memo.announced_opponent

    def record_invitation(self, invitation: v2.GameInvitation) -> bool:
        """Record an invitation; True if the match is new, or is replayed (under another token)."""
        known = self.find_invitation(invitation.match_id)
        if known is not None and known.auth_token == invitation.auth_token:
            return False
        memo = self._open_memo(invitation.match_id)
        memo.invitation, memo.answers = invitation, {}
        return True

    def record_answer(self, match_id: str, step: int, move: Move) -> None:
        """Record the move that was sent at a step of a match."""
        memo = self._memos_by_match.get(match_id)
        if memo and memo.invitation and len(memo.answers) < MAX_ANSWERS:
            memo.answers[step] = move

    def is_repeated_by_foreign_referee(self, call: v2.ChooseParityCall) -> bool:
        """Whether a foreign referee repeats its question; referees of ours are known by their draw commitment."""
        invitation = self.find_invitation(call.match_id)
        if (invitation and invitation.draw_commitment) or (call.context and call.context.draw_commitment):
            return False
        memo = self._open_memo(call.match_id)
        is_repeated, memo.is_asked = memo.is_asked, True
        return is_repeated

    def find_invitation(self, match_id: str) -> v2.GameInvitation | None:
        """Return the recorded invitation to a match; later messages may have fewer fields."""
        memo = self._memos_by_match.get(match_id)
        return memo.invitation if memo else None

    def find_problem(self, over: v2.GameOver, player_id: str) -> str | None:
        """Describe what is wrong with a result in a sentence; None if nothing is, or it can't be checked."""
        memo = self._memos_by_match.get(over.match_id)
        if memo is None or memo.invitation is None or over.game_result.status == "TECHNICAL_LOSS":
            return None
        return _find_choice_problem(memo, over, player_id) or _find_draw_problem(memo.invitation, over, player_id)

    def _open_memo(self, match_id: str) -> _MatchMemo:
        """Return the memo of a match, which becomes the latest one; the oldest of too many is forgotten."""
        memo = self._memos_by_match[match_id] = self._memos_by_match.pop(match_id, _MatchMemo())
        if len(self._memos_by_match) > MAX_MATCHES:
            del self._memos_by_match[next(iter(self._memos_by_match))]
        return memo


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
    return f"it says that we chose {quote(told)}, but we chose {quote(answers)}"


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
