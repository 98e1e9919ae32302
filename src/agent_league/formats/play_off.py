"""The play-off for first place: those who are level in it at the end of a tournament meet once more.

Two meet twice, with the sides swapped; more play a round robin. If several are first in that as well, they play another
one, and after it they share the first place. The matches decide the first place alone and give no points in the table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent_league.formats.base import PlayerGroups, TournamentRecord, make_round
from agent_league.formats.plain_ranking import rank_by_points
from agent_league.formats.round_robin import count_boards, make_circle_board
from agent_league.model.schedule import PLAY_OFF_STAGE, LeagueRound

PLAY_OFF_TITLES = ("Play-off for first place", "Second play-off for first place")
"""One for each play-off that may be needed."""


def pair_play_off(tournament: TournamentRecord, leaders: Sequence[str]) -> LeagueRound | None:
    """Pair the next round of the play-off among the leaders of a table; None if it has none, or it is over.

    All matches of the tournament are over. Who is out when a play-off begins doesn't take part in it.
    """
    begun = list(_list_play_offs(tournament))
    players, rounds = begun[-1] if begun else ([], [])
    if len(rounds) == _count_rounds(len(players)):
        active = {entrant.player_id for entrant in tournament.entrants if not entrant.is_out}
        players = [one for one in split_leaders(tournament, leaders)[0] if one in active]
        players = _order_by_seed(tournament, players)
        rounds = []
        if len(players) < 2 or len(begun) == len(PLAY_OFF_TITLES):
            return None
        begun.append((players, rounds))
    board = make_circle_board(len(players), len(rounds))
    pairs = [(players[a], players[b], "level in first place after all tiebreakers") for a, b in board]
    paired = {player_id for pair in pairs for player_id in pair[:2]}
    byes = {one: "no opponent in this round of the play-off" for one in players if one not in paired}
    unit = "game" if len(players) == 2 else "round"
    part = f"{unit} {len(rounds) + 1} of {_count_rounds(len(players))}"
    title = f"{PLAY_OFF_TITLES[len(begun) - 1]}, {part}"
    return replace(make_round(tournament, pairs, byes=byes, title=title), stage=PLAY_OFF_STAGE)


def split_leaders(tournament: TournamentRecord, leaders: Sequence[str]) -> PlayerGroups:
    """Rank the leaders of a table by the play-offs that are over.

    Who played one and leads no more, because a result was corrected since, is not among them.
    """
    groups: list[Sequence[str]] = [leaders]
    for players, rounds in _list_play_offs(tournament):
        matches = [pairing.match_id for round_ in rounds for pairing in round_.pairings]
        if len(rounds) < _count_rounds(len(players)) or any(one not in tournament.results for one in matches):
            break
        entrants = [tournament.find_entrant(player_id) for player_id in players]
        ranking = rank_by_points(replace(tournament, entrants=entrants, rounds=rounds))
        level = [[one for one in group if one in groups[0]] for group in ranking]
        ranking = [group for group in level if group]
        absent = [player_id for player_id in groups[0] if player_id not in players]
        groups = [*ranking, *([absent] if absent else []), *groups[1:]]
    return groups


def _list_play_offs(tournament: TournamentRecord) -> Iterator[tuple[list[str], list[LeagueRound]]]:
    """Yield the players and the rounds of each play-off; its first round names all its players."""
    left = [round_ for round_ in tournament.rounds if round_.is_play_off and round_.pairings]
    while left:
        players = _order_by_seed(tournament, [*left[0].players, *left[0].byes])
        count = _count_rounds(len(players))
        yield players, left[:count]
        left = left[count:]


def _order_by_seed(tournament: TournamentRecord, players: Sequence[str]) -> list[str]:
    return [entrant.player_id for entrant in tournament.entrants if entrant.player_id in players]


def _count_rounds(players: int) -> int:
    return 2 if players == 2 else count_boards(players)
