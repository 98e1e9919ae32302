"""`league show`: standings, schedule, a match or a player of a league, read from the manager's database."""

import re
import shlex
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.ladder_view import print_ladder, read_ladder
from agent_league.cli.options import ExistingHomeOption, JsonOption, StoredLeagueOption, StoreOption, open_league
from agent_league.cli.terminal import (
    draw_standings,
    format_options,
    make_stdout_console,
    print_json,
    print_lines,
    print_model_usage,
    print_ratings,
    print_table,
    rewrite_commands,
    spell_command,
)
from agent_league.errors import UserError
from agent_league.text import quote

if TYPE_CHECKING:
    from rich.console import Console

    from agent_league.model.results import MatchResult
    from agent_league.web.league_reader import LeagueReader

MAX_MOVES = 100
MAX_LISTED = 20


class ShowSubject(StrEnum):
    STANDINGS = "standings"
    SCHEDULE = "schedule"
    GROUPS = "groups"
    BRACKET = "bracket"
    MATCH = "match"
    PLAYER = "player"
    AUDIT = "audit"
    LADDER = "ladder"


SUBJECT_CHOICES = "|".join(ShowSubject)
EXAMPLE_IDS = {ShowSubject.MATCH: "R1M1", ShowSubject.PLAYER: "P01"}
_ID_PATTERNS = {ShowSubject.MATCH: re.compile(r"(?i)r\d+m\d+"), ShowSubject.PLAYER: re.compile(r"(?i)p\d+")}


def parse_subject(word: str) -> ShowSubject:
    """Parse the subject; for an id alone, raise UserError with the command that shows it."""
    with suppress(ValueError):
        return ShowSubject(word.casefold())
    for what, ids in _ID_PATTERNS.items():
        if ids.fullmatch(word):
            raise UserError(f"{word} is the id of a {what}: `league show {what} {word}` shows it.")
    from agent_league.model.names import list_known_names

    raise UserError(f"Nothing to show is called {quote(word)} {list_known_names(word.casefold(), list(ShowSubject))}.")


def show(
    what: Annotated[
        ShowSubject, typer.Argument(help="What to show.", parser=parse_subject, metavar=f"[{SUBJECT_CHOICES}]")
    ] = ShowSubject.STANDINGS,
    which: Annotated[str | None, typer.Argument(metavar="[ID]", help="The match, or the player (id or name).")] = None,
    round_id: Annotated[int | None, typer.Option("--round", min=1, help="Of the schedule, this round alone.")] = None,
    league_id: StoredLeagueOption = None,
    store: StoreOption = None,
    home: ExistingHomeOption = None,
    json: JsonOption = False,
) -> None:
    """Show a league's standings, schedule, groups, bracket or ladder, a match, a player or the organisers' commands.

    It reads the manager's database, while the league runs and after.
    """
    if which is None and what in EXAMPLE_IDS:
        raise UserError(f"league show {what}: expected its id, such as `league show {what} {EXAMPLE_IDS[what]}`")
    if which is not None and what not in EXAMPLE_IDS:
        raise UserError(f"league show {what}: takes no id")
    if round_id is not None and what is not ShowSubject.SCHEDULE:
        raise UserError("--round is for `league show schedule`")
    reader = open_league(home, league_id, store).make_reader()
    read, print_subject = SUBJECTS[what]
    told = read(reader, which or "", round_id)
    print_json(told) if json else print_subject(make_stdout_console(), told, reader)


def _read_standings(reader: "LeagueReader", _: str, __: int | None) -> dict[str, Any]:
    from agent_league.league.times_view import view_times
    from agent_league.league.tournament import describe_format
    from agent_league.model.results import list_champions

    season = reader.state
    return {
        **reader.queries.get_standings(),
        "standings": [row.to_json_with_tiebreaks() for row in season.standings()],
        "champions": list_champions(season.standings()) if season.has_champions else [],
        "total_rounds": season.planned_rounds,
        "format": describe_format(season.config),
        "stage": season.describe_progress(reader.current_round),
        "matches_played": len(season.results),
        "total_matches": len(season.schedule.pairings),
        "ratings": rated.to_json(reader.player_names) if (rated := reader.rate_players()) else None,
        "times": view_times(season, reader.history.now()).to_json(),
        "models": {player_id: used.to_json() for player_id, used in season.collect_model_usage().items()},
    }


def _print_standings(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    from agent_league.league.times_view import view_times
    from agent_league.model.result_words import format_count
    from agent_league.ratings.rating_words import format_rating

    rows = reader.state.standings()
    rated = reader.rate_players()
    ratings = {one.player_id: format_rating(one) for one in rated.table.ratings} if rated else None
    console.print(draw_standings(rows, reader.title, len(rows), ratings=ratings))
    print_model_usage(console, reader.state.collect_model_usage())
    matches, rounds = format_count(told["total_matches"], "match"), format_count(told["total_rounds"], "round")
    is_open = "open" if reader.state.is_registration_open else "closed"
    so_far = {
        "REGISTRATION": f"Registration is {is_open}; {format_count(len(rows), 'player')} so far.",
        "RUNNING": f"{told['matches_played']} of {matches} played, {told['rounds_completed']} of {rounds} completed.",
        "COMPLETED": f"The league is over: {matches} in {rounds}.{_name_champions(reader)}",
    }
    stage = [f"{told['stage']}."] if told["stage"] else []
    times = [f"{one}." for one in view_times(reader.state, reader.history.now()).list_sentences()]
    print_lines(console, [so_far.get(told["phase"], told["phase"]), *stage, *times, *_suggest_subjects(reader)], "dim")
    if rated and rated.table.games:
        print_ratings(console, rated, reader.player_names, "How sure is this table?")


def _name_champions(reader: "LeagueReader") -> str:
    from agent_league.model.result_words import format_champions

    season = reader.state
    if not season.has_champions:
        return ""
    return f" {format_champions(season.standings(), has_play_off=season.has_play_off)}."


def _suggest_subjects(reader: "LeagueReader") -> list[str]:
    """Name the commands that show the groups and the bracket, if the league has such."""
    where = format_options({"--home": reader.home, "--league-id": reader.state.league_id})
    shown = [what for what in (ShowSubject.GROUPS, ShowSubject.BRACKET) if _has_subject(reader, what)]
    return [spell_command(f"show {what}{where}") for what in shown]


def _has_subject(reader: "LeagueReader", what: ShowSubject) -> bool:
    from agent_league.formats.bracket import BracketFormat
    from agent_league.formats.groups import Groups
    from agent_league.formats.stage_views import has_stage_of

    return has_stage_of(reader.state.format, Groups if what is ShowSubject.GROUPS else BracketFormat)


def _require_subject(reader: "LeagueReader", what: ShowSubject) -> None:
    """Raise UserError if the league's format has no such thing, or none yet."""
    from agent_league.league.tournament import describe_format

    if not _has_subject(reader, what):
        form = describe_format(reader.state.config)
        raise UserError(
            f"league show {what}: this league has none; it is a {form}. `league show schedule` has its rounds."
        )
    if not reader.state.schedule.rounds:
        raise UserError(f"league show {what}: there is none before the league starts.")


def _read_groups(reader: "LeagueReader", _: str, __: int | None) -> dict[str, Any]:
    _require_subject(reader, ShowSubject.GROUPS)
    season = reader.state
    return {
        "league_id": season.league_id,
        "phase": str(season.phase),
        "stage": season.describe_progress(reader.current_round),
        "groups": [table.to_json() for table in season.find_group_tables()],
    }


def _print_groups(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    from agent_league.cli.format_view import print_groups

    print_groups(console, reader.state.find_group_tables(), reader.title)
    print_lines(console, [f"{told['stage']}."] if told["stage"] else [], "dim")


def _read_bracket(reader: "LeagueReader", _: str, __: int | None) -> dict[str, Any]:
    from dataclasses import asdict

    from agent_league.formats.stage_views import find_brackets

    _require_subject(reader, ShowSubject.BRACKET)
    season = reader.state
    return {
        "league_id": season.league_id,
        "phase": str(season.phase),
        "stage": season.describe_progress(reader.current_round),
        "brackets": [asdict(bracket) for bracket in find_brackets(season.format, season.tournament)],
    }


def _print_bracket(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    from agent_league.cli.format_view import print_bracket
    from agent_league.formats.stage_views import find_brackets

    print_lines(console, [reader.title], "italic")
    brackets = find_brackets(reader.state.format, reader.state.tournament)
    for bracket in brackets:
        print_bracket(console, bracket, reader.player_names)
    if not brackets:
        print_lines(console, ["The bracket begins with its stage."])
    print_lines(console, [f"{told['stage']}."] if told["stage"] else [], "dim")


def _read_schedule(reader: "LeagueReader", _: str, round_id: int | None) -> dict[str, Any]:
    told = reader.queries.get_schedule()
    numbers = [round_["round_id"] for round_ in told["rounds"]]
    if round_id is not None:
        if round_id not in numbers:
            there = f"there are rounds 1 to {len(numbers)}" if numbers else "nobody has registered yet"
            raise UserError(f"--round {round_id}: no such round; {there}")
        told["rounds"] = [round_ for round_ in told["rounds"] if round_["round_id"] == round_id]
    return told


def _print_schedule(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    names = reader.player_names
    rows = [
        (
            match["round_id"],
            match["match_id"],
            *(_id_with_name(match[f"player_{side}_id"], names) for side in "AB"),
            match["referee_id"],
            _describe_outcome(match, reader.state.results.get(match["match_id"])),
        )
        for round_ in told["rounds"]
        for match in round_["matches"]
    ]
    print_table(console, reader.title, (">Round", "Match", "A", "B", "Referee", "Result"), rows)
    if len(told["rounds"]) == 1:
        _print_reasons(console, told["rounds"][0]["round_id"], reader)
    elif titles := [f"Round {one.round_id}: {one.title}" for one in reader.state.schedule.rounds if one.title]:
        print_lines(console, titles, "dim")


def _print_reasons(console: "Console", round_id: int, reader: "LeagueReader") -> None:
    """Print what a round is called, why its players meet, and why others have no opponent."""
    found = [round_ for round_ in reader.state.schedule.rounds if round_.round_id == round_id]
    for round_ in found:
        print_lines(console, [round_.title] if round_.title else [], "bold")
        reasons = {pairing.match_id: pairing.reason for pairing in round_.pairings if pairing.reason}
        if len(reasons) > 1 and len(set(reasons.values())) == 1:
            reasons = {"All": next(iter(reasons.values()))}
        print_lines(console, [f"{which}: {why}" for which, why in reasons.items()])
        names = reader.player_names
        print_lines(
            console, [f"{_id_with_name(one, names)} has no opponent: {why}" for one, why in round_.byes.items()], "dim"
        )


def _describe_outcome(match: Mapping[str, Any], result: "MatchResult | None") -> str:
    """Describe a scheduled match's result in a word or two; empty before it is assigned."""
    if result is None:
        return "being played" if match["referee_id"] else ""
    if result.is_void:
        return "aborted"
    if match["status"] == "DRAW":
        return "draw"
    technically = ", technically" if match["status"] == "TECHNICAL_LOSS" else ""
    return f"{match['winner_player_id'] or 'nobody'} wins{technically}"


def _read_match(reader: "LeagueReader", match_id: str, _: int | None) -> dict[str, Any]:
    from agent_league.league.match_file_reader import read_match
    from agent_league.referee.transcript import filter_objects
    from agent_league.storage.match_segments import find_match_size

    season = reader.state
    known = [pairing.match_id for pairing in season.schedule.pairings]
    match_id = _resolve_id(match_id, known, "match", "`league show schedule` lists them", {})
    told, result = reader.queries.get_match(match_id), season.results.get(match_id)
    if result is None and match_id in season.assigned_referees:
        told["state"] = "RUNNING"
    filed = read_match(reader.paths, season.league_id, result, told["referee_id"]) if result else None
    file = filed.content if filed else None
    path = reader.paths.match_file(season.league_id, match_id)
    return {
        **told,
        "reason": file["result"].get("reason") if file else None,
        "lifecycle": [state for state in filter_objects(file.get("lifecycle")) if "at" in state] if file else None,
        "moves": [step for step in filter_objects(file.get("moves")) if step] if file else None,
        "calls": _summarise_calls(file) if file else None,
        "file": str(path) if file else None,
        "no_file": filed.missing_reason or None if filed else None,
        "is_filed": find_match_size(path) > 0,
    }


def _summarise_calls(file: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Summarise each player's calls in a transcript: answers, failures and latency."""
    told: dict[str, list[Mapping[str, Any]]] = {}
    for entry in file["transcript"]:
        if isinstance(entry.get("player_id"), str):
            told.setdefault(entry["player_id"], []).append(entry)
    return {player_id: _summarise_player_calls(entries) for player_id, entries in told.items()}


def _summarise_player_calls(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    times = [entry["latency_ms"] for entry in entries if isinstance(entry.get("latency_ms"), int | float)]
    return {
        "answers": sum(entry["direction"] == "received" for entry in entries),
        "failures": [str(entry.get("error_code") or "?") for entry in entries if entry["direction"] == "failed"],
        "median_ms": round(statistics.median(times), 3) if times else None,
        "slowest_ms": max(times, default=None),
    }


def _print_match(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    from agent_league.model.tables import DataTable
    from agent_league.text import MAX_WORD, format_move

    result, players = told["result"], [player["player_id"] for player in told["players"]]
    rows = []
    for side, player_id in zip("AB", players, strict=True):
        calls = (told["calls"] or {}).get(player_id, {})
        row = [
            side,
            player_id,
            reader.player_names.get(player_id, player_id),
            result["score"].get(player_id, 0) if result else "",
            _termination_words(result["terminations"].get(player_id, "normal")) if result else "",
            calls.get("answers"),
            ", ".join(calls.get("failures", [])),
            *(_format_ms(calls.get(name)) for name in ("median_ms", "slowest_ms")),
        ]
        rows.append(row)
    headings = ("", "Player", "Name", ">Points", "Ending", ">Answers", "Failures", ">Median", ">Slowest")
    title = f"{told['match_id']} · round {told['round_id']} · {told['game_type']} · {told['state'].lower()}"
    table = DataTable(headings, rows).without_empty_columns(kept=3)
    print_table(console, title, table.columns, table.rows)
    print_lines(console, _describe_match(told, players))
    if moves := told["moves"]:
        steps = [
            (number, *(format_move(step[player], MAX_WORD) if player in step else "" for player in players))
            for number, step in enumerate(moves[:MAX_MOVES], start=1)
        ]
        print_table(console, "Moves", (">Step", *players), steps)
        if len(moves) > MAX_MOVES:
            print_lines(console, [f"and {len(moves) - MAX_MOVES} more"])
    print_lines(console, map(rewrite_commands, _suggest_commands(told, reader)), "dim")


def _describe_match(told: Mapping[str, Any], players: Sequence[str]) -> Iterable[str]:
    if told["referee_id"]:
        yield f"Referee: {told['referee_id']}"
    if result := told["result"]:
        winner = result["winner_player_id"]
        is_void = "void" in result["terminations"].values()
        ending = f"{result['status']}, {f'{winner} wins' if winner else 'nobody wins'}"
        yield f"Result: {'void, it counts for nobody' if is_void else ending}"
        if reason := result["details"].get("fault") or told["reason"]:
            yield f"Reason: {reason}"
        for player_id in players:
            if noted := result["tolerated"].get(player_id):
                yield f"Tolerated from {player_id}: {'; '.join(noted)}"
    moments = [str(moment["at"]) for moment in told["lifecycle"] or ()]
    if moments:
        yield f"Played: {moments[0]} to {moments[-1]} ({_format_period(moments[0], moments[-1])})"


def _suggest_commands(told: Mapping[str, Any], reader: "LeagueReader") -> Iterable[str]:
    if told["state"] != "FINISHED":
        yield "What is played shows once the match is over."
        return
    where = format_options({"--home": reader.home, "--league-id": told["league_id"]})
    if not told["file"]:
        yield f"What was said is not known here: {told['no_file']}."
        if not told["is_filed"]:
            yield f"`league rebuild{where}` writes a file of the result."
        return
    yield spell_command(f"replay {told['match_id']}{where}")
    yield spell_command(f"logs --match {told['match_id']}{where}")
    yield spell_command(f"verify {shlex.quote(str(told['file']))}")


def _read_player(reader: "LeagueReader", player_id: str, _: int | None) -> dict[str, Any]:
    names = {name: other for other, name in reader.player_names.items()}
    player_id = _resolve_id(player_id, list(reader.player_names), "player", "`league show standings` lists them", names)
    told = reader.queries.get_player(player_id)
    for match in told["matches"]:
        view = reader.queries.view_match(reader.state.get_pairing(match["match_id"]))
        match["points"] = view.points.get(player_id)
        match["result"] = view.label(player_id).letter if view.is_finished else None
        match["termination"] = view.terminations.get(player_id)
        match["reason"] = view.pairing.reason
    played = [match for match in told["matches"] if match["points"] is not None]
    used = reader.state.collect_model_usage().get(told["player_id"])
    return {
        **told,
        "form": [match["result"] for match in played],
        "head_to_head": _count_head_to_head(played),
        "model_usage": used.to_json() if used else None,
    }


def _count_head_to_head(played: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Count wins, draws, losses and points by opponent, in the order of the first match."""
    from agent_league.model.result_words import RESULT_LABELS

    columns = {sign.letter: {"W": "wins", "D": "draws", "L": "losses"}.get(sign.column, "") for sign in RESULT_LABELS}
    against: dict[str, dict[str, Any]] = {}
    for match in played:
        opponent = match["opponent_id"]
        empty = {"opponent_id": opponent, "played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}
        tally = against.setdefault(opponent, empty)
        tally["played"] += 1
        tally[columns[match["result"]]] += 1
        tally["points"] += match["points"]
    return list(against.values())


def _print_player(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    from agent_league.web.agents import describe_state

    names = reader.player_names
    state = describe_state(reader.state.roster[told["player_id"]])
    record = ("shared_rank", "played", "wins", "draws", "losses", "technical_losses", "points")
    columns = (">#", ">Played", ">Won", ">Drawn", ">Lost", ">Technically", ">Points")
    title = f"{told['player_id']} {told['display_name']} · {state}"
    print_table(console, title, columns, [[told[name] for name in record]])
    if told["form"]:
        print_lines(console, [f"Form: {' '.join(told['form'][-MAX_LISTED:])}"])
    used = reader.state.collect_model_usage().get(told["player_id"])
    print_model_usage(console, {told["player_id"]: used} if used else {})
    if told["tolerated"]:
        print_lines(console, [f"Tolerated: {'; '.join(told['tolerated'])}"])
    rows = [
        (
            match["round_id"],
            match["match_id"],
            _id_with_name(match["opponent_id"], names),
            match["result"],
            match["points"],
            "" if match["termination"] in (None, "normal") else _termination_words(match["termination"]),
        )
        for match in told["matches"]
    ]
    if rows:
        print_table(console, "Matches", (">Round", "Match", "Opponent", "Result", ">Points", "Ending"), rows)
    if not reader.state.format.is_fixed and rows:
        print_lines(console, ["Why it meets them", *_explain_meetings(told, reader)])
    if any(meeting["played"] > 1 for meeting in told["head_to_head"]):
        tally = ("played", "wins", "draws", "losses", "points")
        meetings = [
            (_id_with_name(meeting["opponent_id"], names), *(meeting[name] for name in tally))
            for meeting in told["head_to_head"]
        ]
        print_table(console, "Head to head", ("Opponent", ">Played", ">Won", ">Drawn", ">Lost", ">Points"), meetings)


def _explain_meetings(told: Mapping[str, Any], reader: "LeagueReader") -> Iterable[str]:
    """Say why a player meets whom, and why it has no opponent, round by round."""
    names, matches = reader.player_names, {match["round_id"]: match for match in told["matches"]}
    for round_ in reader.state.schedule.rounds:
        if match := matches.get(round_.round_id):
            yield f"  {match['match_id']} against {_id_with_name(match['opponent_id'], names)}: {match['reason']}"
        elif why := round_.byes.get(told["player_id"]):
            yield f"  Round {round_.round_id}, no opponent: {why}"


def _read_audit(reader: "LeagueReader", _: str, __: int | None) -> dict[str, Any]:
    entries = [entry.to_json() for entry in reader.state.audit_log]
    return {"league_id": reader.state.league_id, "audit": entries}


def _print_audit(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    from agent_league.model.audit import describe_action

    if not told["audit"]:
        print_lines(console, ["No organiser has done anything by hand yet."])
        return
    rows = [
        (
            one["number"],
            one["at"],
            one["who"],
            describe_action(one["action"]),
            one["target"],
            one["change"],
            one["reason"],
        )
        for one in told["audit"]
    ]
    print_table(console, reader.title, (">No.", "When", "Who", "Command", "About", "What changed", "Reason"), rows)


SUBJECTS: Mapping[
    ShowSubject,
    tuple[
        Callable[["LeagueReader", str, int | None], dict[str, Any]],
        Callable[["Console", Mapping[str, Any], "LeagueReader"], None],
    ],
] = {
    ShowSubject.STANDINGS: (_read_standings, _print_standings),
    ShowSubject.SCHEDULE: (_read_schedule, _print_schedule),
    ShowSubject.GROUPS: (_read_groups, _print_groups),
    ShowSubject.BRACKET: (_read_bracket, _print_bracket),
    ShowSubject.MATCH: (_read_match, _print_match),
    ShowSubject.PLAYER: (_read_player, _print_player),
    ShowSubject.AUDIT: (_read_audit, _print_audit),
    ShowSubject.LADDER: (read_ladder, print_ladder),
}
"""By subject: how it is read, as the data of `--json`, and how these are printed."""


def _resolve_id(asked: str, known: Sequence[str], kind: str, list_: str, names: Mapping[str, str]) -> str:
    """Find an id by its letters in either case or by a display name; UserError with what there is."""
    from agent_league.model.names import list_known_names, normalise_confusables

    alike = {normalise_confusables(name): one for name, one in names.items()} | {
        normalise_confusables(one): one for one in known
    }
    if found := alike.get(normalise_confusables(asked)):
        return found
    if not known:
        raise UserError(f"No {kind} {quote(asked)}: the league hasn't started, and has none yet.")
    if len(known) <= MAX_LISTED:
        raise UserError(f"No {kind} {quote(asked)} in this league {list_known_names(asked, known)}.")
    raise UserError(
        f"No {kind} {quote(asked)} in this league; there are {len(known)}, {known[0]} to {known[-1]}: {list_}."
    )


def _id_with_name(player_id: str, names: Mapping[str, str]) -> str:
    return f"{player_id} {names.get(player_id, '')}".rstrip()


def _termination_words(termination: str) -> str:
    return termination.replace("_", " ")


def _format_ms(value: float | None) -> str:
    from agent_league.clock import format_duration

    return "" if value is None else format_duration(value / 1000)


def _format_period(first: str, last: str) -> str:
    from agent_league.clock import format_time_taken, parse_utc

    begun, ended = parse_utc(first), parse_utc(last)
    return format_time_taken(begun, ended) if begun and ended else "?"
