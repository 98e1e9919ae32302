"""The groups and brackets of a tournament, be it of one format or of several stages, for pages and terminal."""

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from agent_league.formats.base import Format, TournamentRecord
from agent_league.formats.bracket import Bracket, BracketFormat, build_bracket
from agent_league.formats.groups import Groups
from agent_league.formats.plain_ranking import count_scores, flatten_groups
from agent_league.formats.stages import Stages, find_current_stage
from agent_league.model.group_table import GroupRow, GroupTable


def has_stage_of(chosen: Format, kind: type[object]) -> bool:
    """Whether a format or one of its stages is of a kind."""
    formats = [stage.format for stage in chosen.stages] if isinstance(chosen, Stages) else [chosen]
    return any(isinstance(one, kind) for one in formats)


def get_stage_format(chosen: Format, number: int) -> Format:
    """Return the format of a stage; there is one stage if the format has none."""
    return chosen.stages[number - 1].format if isinstance(chosen, Stages) else chosen


def find_stage(chosen: Format, tournament: TournamentRecord, number: int) -> tuple[Format, TournamentRecord]:
    """Return the format of a stage that has begun, and its tournament; there is one stage if the format has none."""
    if isinstance(chosen, Stages):
        return chosen.stages[number - 1].format, chosen.get_stage_tournament(tournament, number)
    return chosen, tournament


def count_still_in(chosen: Format, tournament: TournamentRecord, stage: int) -> int | None:
    """Count who may still win after a round of this stage where nobody leads; 0 if nobody goes out, either.

    None if the players have one table, which somebody leads. What follows the round has been paired already.
    """
    current = find_current_stage(tournament)
    format_, inner = find_stage(chosen, tournament, current)
    if isinstance(format_, BracketFormat):
        return format_.count_still_in(inner)
    if current > stage:
        return len(inner.entrants)
    return 0 if isinstance(format_, Groups) else None


def find_brackets(chosen: Format, tournament: TournamentRecord) -> list[Bracket]:
    """Build the brackets of a tournament: of its format, or of those of its stages that have begun."""
    if isinstance(chosen, BracketFormat):
        return [build_bracket(tournament, chosen)]
    if not isinstance(chosen, Stages):
        return []
    begun = chosen.list_begun_stages(tournament)
    return [build_bracket(inner, format_) for _, format_, inner in begun if isinstance(format_, BracketFormat)]


def find_group_tables(chosen: Format, tournament: TournamentRecord, names: Mapping[str, str]) -> list[GroupTable]:
    """Make the tables of all groups of a tournament that has begun; none if its formats have no groups."""
    if isinstance(chosen, Groups):
        return list(_build_tables(chosen, tournament, names, 1, set(), ""))
    if not isinstance(chosen, Stages):
        return []
    return [
        table
        for number, format_, inner in chosen.list_begun_stages(tournament)
        if isinstance(format_, Groups)
        for table in _build_tables(
            format_,
            inner,
            names,
            number,
            chosen.find_advancing(tournament, number),
            chosen.describe_advance(number) if number < len(chosen.stages) else "",
        )
    ]


def _build_tables(
    format_: Groups,
    inner: TournamentRecord,
    names: Mapping[str, str],
    stage: int,
    advancing: Collection[str],
    advance: str,
) -> Iterator[GroupTable]:
    scores = count_scores(inner)
    pairings = [pairing for round_ in inner.rounds for pairing in round_.pairings]
    has_all_rounds = len(inner.rounds) >= format_.count_rounds(inner)
    for group, ranking in format_.rank_groups(inner):
        places: dict[str, int] = {}
        for level in ranking:
            places.update(dict.fromkeys(level, len(places) + 1))
        rows = tuple(
            GroupRow(
                place=places[player_id],
                player_id=player_id,
                display_name=names.get(player_id, player_id),
                played=(score := scores[player_id]).played,
                wins=score.wins,
                draws=score.draws,
                losses=score.played - score.wins - score.draws,
                points=score.points,
                is_advancing=player_id in advancing,
            )
            for player_id in flatten_groups(inner, ranking)
        )
        own = [pairing for pairing in pairings if pairing.player_a in group.player_ids]
        is_over = has_all_rounds and all(pairing.match_id in inner.results for pairing in own)
        is_cut = any(
            one.place == other.place and one.is_advancing > other.is_advancing for one, other in pairwise(rows)
        )
        yield GroupTable(group.name, stage, rows, advance, is_over, is_cut)
