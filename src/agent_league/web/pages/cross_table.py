"""The cross table: each player's results against every other, in the order of the standings.

Two hundred players have 39,800 cells; building these here is faster than in the template.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from markupsafe import Markup, escape

from agent_league.model.result_words import RESULT_LABELS, ResultLabel, label_result
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import Schedule
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData
from agent_league.web.site import Site

MOST_NAMED = 60
"""Up to this many players each cell gets its own accessible label; larger tables would get too big."""
SELF_CELL = '<td class="self"></td>'


@dataclass(frozen=True, slots=True)
class CrossTable:
    """The cells of the cross table; links depend on the site on which it is shown."""

    rows: Sequence[StandingsRow]
    schedule: Schedule
    results: Mapping[str, MatchResult]
    assigned_match_ids: Set[str]
    """Ids of matches that have a referee."""

    def lines(self, site: Site) -> Iterator[tuple[StandingsRow, Markup]]:
        """Yield each player's row with its rendered cells."""
        place = {row.player_id: at for at, row in enumerate(self.rows)}
        cells: list[list[str]] = [[""] * len(place) for _ in place]
        is_named = len(place) <= MOST_NAMED
        for pairing in self.schedule.pairings:
            match_id = pairing.match_id
            result, is_playing = self.results.get(match_id), match_id in self.assigned_match_ids
            address = escape(site.to(f"matches/{match_id}"))
            for own, other in (pairing.players, pairing.players[::-1]):
                sign = label_result(result, own, is_playing=is_playing)
                name = _cell_label(own, sign, other, match_id) if is_named else ""
                link = f'<a class="letter {sign.kind}" href="{address}"{name}>{sign.letter}</a>'
                cells[place[own]][place[other]] += link
        for at, row in enumerate(self.rows):
            own_cells = [SELF_CELL if at == column else f"<td>{cell}</td>" for column, cell in enumerate(cells[at])]
            yield row, Markup("".join(own_cells))  # noqa: S704 - made of escaped addresses, ids and our own words


def _cell_label(own: str, sign: ResultLabel, other: str, match_id: str) -> str:
    """Build a cell's accessible label; it begins with the visible letter, as speech control needs."""
    return f' aria-label="{sign.letter}: {escape(own)} {sign.verb} {escape(other)}, match {escape(match_id)}"'


def read_cross_table_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    return {
        "grid": CrossTable(
            season.standings(), season.schedule, dict(season.results), frozenset(season.assigned_referees)
        ),
        "played": len(season.results),
        "total": sum(len(round_.pairings) for round_ in season.schedule.rounds),
        "is_double": season.config.scheduling.format == "double_round_robin",
        "signs": RESULT_LABELS,
    }


CROSS_TABLE_PAGE = Page("cross-table", "cross_table.html", read_cross_table_data, title="Cross table")
