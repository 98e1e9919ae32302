"""The rows of a grade sheet: one a student, from the league's table, its ratings and the class's teams.

Computes; reads and writes no file.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent_league.model.agents import Role
from agent_league.model.grade_formula import GradeFormula, GradeUnknown
from agent_league.model.names import normalise_confusables
from agent_league.model.results import Outcome, StandingsRow, Termination
from agent_league.ratings.tables import Rating
from agent_league.storage.access import TeamRow
from agent_league.text import shorten
from agent_league.web.league_reader import LeagueReader

BONUS_COLUMNS = ("documentation_bonus", "innovation_bonus")
Marks = Mapping[str, Mapping[str, float]]
"""By student id: further columns for the formula, such as a bonus."""


@dataclass(frozen=True, slots=True)
class GradedPlayer:
    """What a league says about one player."""

    standing: StandingsRow
    version: str
    rating: Rating | None
    technical_losses: Mapping[str, int]
    """How many there were of each kind."""
    deviations: int
    check_score: float | None = None
    is_withdrawn: bool = False

    def list_columns(self, players: int) -> dict[str, float | None]:
        """Return what a formula may name."""
        row, rating = self.standing, self.rating
        return {
            "rank": row.shared_rank,
            "players": players,
            "points": row.points,
            "played": row.played,
            "wins": row.wins,
            "draws": row.draws,
            "losses": row.losses,
            "technical_losses": sum(self.technical_losses.values()),
            "rating": rating.elo if rating else None,
            "rating_low": rating.low if rating else None,
            "rating_high": rating.high if rating else None,
            "withdrawn": float(self.is_withdrawn),
            "deviations": self.deviations,
            "check_score": self.check_score,
        }


@dataclass(frozen=True, slots=True)
class GradeRow:
    """A student, or without a roster a player, with the grade."""

    student_id: str
    name: str
    email: str
    team: str
    record: GradedPlayer | None
    """None: the team has no agent in the league."""
    grade: float | None
    problem: str = ""
    """Why there is no grade."""
    evidence: str = ""
    """The address of the player's page."""


@dataclass(frozen=True, slots=True)
class GradeSheet:
    """All grades of a league."""

    title: str
    rows: Sequence[GradeRow]
    without_team: Sequence[str] = field(default_factory=tuple)
    """Names of players who belong to no team of the roster."""


def make_grade_sheet(
    reader: LeagueReader, teams: Sequence[TeamRow], formula: GradeFormula, marks: Marks, pages: str
) -> GradeSheet:
    """Grade every student of the teams, or every player if there are none. `pages` is the address of the pages.

    Without it there are no links to them.
    """
    records = read_graded_players(reader)
    grader = _Grader(formula, len(records), marks, pages)
    if not teams:
        rows = [
            grader.grade_student("", record.standing.display_name, "", record.standing.display_name, record)
            for record in records.values()
        ]
        return GradeSheet(reader.title, rows)
    owners = _find_owners(reader, teams)
    by_team = {team_id: records[player_id] for player_id, team_id in owners.items() if player_id in records}
    rows = [
        grader.grade_student(
            student.get("student_id", ""),
            student.get("name", ""),
            student.get("email", ""),
            team.name,
            by_team.get(team.team_id),
        )
        for team in teams
        for student in team.students
    ]
    alone = [record.standing.display_name for player_id, record in records.items() if player_id not in owners]
    return GradeSheet(reader.title, rows, alone)


def read_graded_players(reader: LeagueReader) -> dict[str, GradedPlayer]:
    """Read what the league says about each player, in the order of the table."""
    state = reader.state
    report = reader.rate_players()
    ratings = report.table.by_player() if report else {}
    losses: dict[str, Counter[str]] = {}
    for player_id, how in _iter_technical_losses(reader):
        losses.setdefault(player_id, Counter())[str(how)] += 1
    deviations: dict[str, set[str]] = {}
    for result in state.results.values():
        for player_id, tolerated in result.tolerated.items():
            deviations.setdefault(player_id, set()).update(tolerated)
    records = {}
    for row in state.standings():
        member = state.roster[row.player_id]
        records[row.player_id] = GradedPlayer(
            standing=row,
            version=member.agent.version,
            rating=ratings.get(row.player_id) if row.played else None,
            technical_losses=losses.get(row.player_id, {}),
            deviations=len({*deviations.get(row.player_id, ()), *member.protocol_profile.deviations}),
            check_score=_find_check_score(reader, row.player_id),
            is_withdrawn=member.is_withdrawn,
        )
    return records


def _find_check_score(reader: LeagueReader, player_id: str) -> float | None:
    """The share of the steps of its check that a player of a ladder has passed, from 0 to 100; None before it."""
    player = reader.state.ladder.players.get(player_id) if reader.state.ladder else None
    check = player.check if player else None
    return round(100 * check.passed / check.steps, 1) if check and check.steps else None


def _iter_technical_losses(reader: LeagueReader) -> Iterator[tuple[str, Termination]]:
    for result in reader.state.results.values():
        if not result.is_void and result.outcome is Outcome.TECHNICAL_LOSS:
            for player_id, how in result.terminations.items():
                if how is not Termination.NORMAL and player_id != result.winner:
                    yield player_id, how


def _find_owners(reader: LeagueReader, teams: Sequence[TeamRow]) -> dict[str, str]:
    """Return player id -> team id: by the key it signed up with, else by its name."""
    by_name = {normalise_confusables(team.name): team.team_id for team in teams}
    owners: dict[str, str] = {}
    for member in reader.state.roster.list_members(Role.PLAYER):
        team_id = member.team_id or by_name.get(normalise_confusables(member.agent.display_name))
        if team_id and team_id not in owners.values():
            owners[member.agent_id] = team_id
    return owners


@dataclass(frozen=True, slots=True)
class _Grader:
    formula: GradeFormula
    players: int
    marks: Marks
    pages: str

    def grade_student(self, student_id: str, name: str, email: str, team: str, record: GradedPlayer | None) -> GradeRow:
        columns: dict[str, float | None] = (
            record.list_columns(self.players) if record else {"players": self.players, "played": 0, "points": 0}
        )
        columns |= {**dict.fromkeys(BONUS_COLUMNS, 0.0), **self.marks.get(student_id, {})}
        grade, problem = None, ""
        try:
            grade = round(self.formula.compute(columns), 2)
        except GradeUnknown as error:
            problem = str(error) if record else f"{shorten(team)} has no agent in the league, and {error}"
        page = f"{self.pages}/players/{record.standing.player_id}" if record and self.pages else ""
        return GradeRow(student_id, name, email, team, record, grade, problem, page)
