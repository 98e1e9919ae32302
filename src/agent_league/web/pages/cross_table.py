"""The cross table: everybody against everybody, with a letter for each result; for many players a heat map of them.

Rows and columns are numbered by rank, so that a column is found again among the rows.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from markupsafe import Markup, escape

from agent_league.model.result_words import DREW, LOST, RESULT_LABELS, RUNNING, WON, ResultLabel, label_result
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import Schedule
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData
from agent_league.web.pages.overview import has_end
from agent_league.web.player.charts import choose_marks
from agent_league.web.rendering import Site, show_hidden_characters

MOST_LETTERS = 60
"""Up to this many players each result is a letter with a link and a label; more are drawn as a heat map."""
SELF_CELL = '<td class="self"></td>'
TAKEN = {WON: 1.0, DREW: 0.5, LOST: 0.0}
"""What a result is worth on the heat map, by the column of the standings that counts it."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """All results as areas of a picture whose cells are one unit wide, and what leads from a cell to its match."""

    size: int
    areas: Sequence[tuple[str, str]]
    """For each kind of result the data of an SVG path."""
    matches: str
    """For each row the cells right of the diagonal: the letter of the result, and the id of the latest match."""
    marks: Sequence[int]
    """The ranks that are marked."""


@dataclass(frozen=True, slots=True)
class CrossTable:
    """The results of all pairs; links depend on the site on which they are shown."""

    rows: Sequence[StandingsRow]
    schedule: Schedule
    results: Mapping[str, MatchResult]
    assigned_match_ids: Set[str]
    """Ids of matches that have a referee."""

    @property
    def is_heat_map(self) -> bool:
        return len(self.rows) > MOST_LETTERS

    def iter_lines(self, site: Site) -> Iterator[tuple[StandingsRow, Markup]]:
        """Yield each player's row with its rendered cells."""
        place = {row.player_id: at for at, row in enumerate(self.rows)}
        names = {row.player_id: escape(show_hidden_characters(row.display_name)) for row in self.rows}
        cells: list[list[str]] = [[""] * len(place) for _ in place]
        for match_id, players, signs in self._iter_signs():
            address = escape(site.to(f"matches/{match_id}"))
            for own, other, sign in zip(players, players[::-1], signs, strict=True):
                # begins with the visible letter, as speech control needs
                label = f"{sign.letter}: {names[own]} {sign.verb} {names[other]}, match {escape(match_id)}"
                link = f'<a class="letter {sign.kind}" href="{address}" aria-label="{label}">{sign.letter}</a>'
                cells[place[own]][place[other]] += link
        for at, row in enumerate(self.rows):
            own_cells = [SELF_CELL if at == column else f"<td>{cell}</td>" for column, cell in enumerate(cells[at])]
            yield row, Markup("".join(own_cells))  # noqa: S704 - made of escaped names, addresses and our own words

    def draw_heat_map(self) -> HeatMap:
        """Draw the results of all pairs; of several meetings the mean counts, and the latest is led to."""
        place = {row.player_id: at for at, row in enumerate(self.rows)}
        size = len(place)
        signs: dict[tuple[int, int], list[ResultLabel]] = {}
        latest: dict[tuple[int, int], str] = {}
        for match_id, players, both in self._iter_signs():
            one, other = (place[player_id] for player_id in players)
            signs.setdefault((one, other), []).append(both[0])
            signs.setdefault((other, one), []).append(both[1])
            latest[min(one, other), max(one, other)] = match_id
        shown = {cell: _average(met) for cell, met in signs.items()}
        runs: dict[str, list[str]] = {}
        for y in range(size):
            for x, length, kind in _iter_runs([shown.get((y, x)) for x in range(size)]):
                runs.setdefault(kind, []).append(f"M{x} {y}h{length}v1h-{length}z")
        lines = (
            ",".join(f"{shown[y, x].letter}{latest[y, x]}" if (y, x) in latest else "" for x in range(y + 1, size))
            for y in range(size)
        )
        areas = [(kind, "".join(drawn)) for kind, drawn in runs.items()]
        return HeatMap(size, areas, ";".join(lines), choose_marks(1, size))

    def _iter_signs(self) -> Iterator[tuple[str, tuple[str, str], tuple[ResultLabel, ResultLabel]]]:
        """Yield each match of players who are shown, and how it is for either."""
        shown = {row.player_id for row in self.rows}
        for pairing in self.schedule.pairings:
            match_id, (one, other) = pairing.match_id, pairing.players
            if one in shown and other in shown:
                result, is_playing = self.results.get(match_id), match_id in self.assigned_match_ids
                signs = [label_result(result, own, is_playing=is_playing) for own in (one, other)]
                yield match_id, (one, other), (signs[0], signs[1])


def _average(signs: Sequence[ResultLabel]) -> ResultLabel:
    """What several meetings come to, for a player: won, drawn or lost on the whole; of none, what the latest is."""
    counted = {sign.column: sign for sign in TAKEN}
    taken = [TAKEN[counted[sign.column]] for sign in signs if sign.column]
    if not taken:
        return signs[-1]
    mean = sum(taken) / len(taken)
    return WON if mean > 0.5 else DREW if mean == 0.5 else LOST


def _iter_runs(cells: Sequence[ResultLabel | None]) -> Iterator[tuple[int, int, str]]:
    """Yield where cells of one kind begin, how many there are, and the kind; none for matches to come."""
    begin = 0
    for at in range(1, len(cells) + 1):
        if at == len(cells) or cells[at] != cells[begin]:
            sign = cells[begin]
            if sign is not None and (sign.column or sign is RUNNING or sign.kind == "void"):
                yield begin, at - begin, sign.kind
            begin = at


def read_cross_table_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    grid = CrossTable(season.standings(), season.schedule, dict(season.results), frozenset(season.assigned_referees))
    return {
        "grid": grid,
        "played": season.matches_played,
        "total": season.matches_planned,
        "is_double": season.config.scheduling.format == "double_round_robin",
        "signs": [sign for sign in RESULT_LABELS if not grid.is_heat_map or "tech" not in sign.kind],
    }


CROSS_TABLE_PAGE = Page(
    "cross-table", "cross_table.html", read_cross_table_data, title="Cross table", section="Table", is_offered=has_end
)
