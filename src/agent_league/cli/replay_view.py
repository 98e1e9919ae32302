"""Finding a finished match, and showing it in the terminal: step by step by keys, all at once, or as a conversation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from agent_league.cli.keys import KeyReader
from agent_league.cli.options import open_existing_home, open_league
from agent_league.errors import Refusal, UserError
from agent_league.games.base import CHANCE
from agent_league.games.view import format_amount
from agent_league.launch.stored_leagues import list_leagues
from agent_league.league.match_file_reader import BadMatchFile, load_match_file, read_match
from agent_league.model.names import is_safe_name
from agent_league.referee.match import SEAT_ROLES
from agent_league.referee.replay import MatchReplay, ReplayStep, to_match_content
from agent_league.storage.match_segments import list_match_paths
from agent_league.storage.paths import DataPaths
from agent_league.text import MAX_SENTENCE, MAX_WORD, capitalise, format_move, quote, shorten, to_printable
from agent_league.web.conversation import ConversationEntry, read_conversation

PLAYER_STYLES = ("bold blue", "bold yellow")
KEYS_HELP = "←/→ step   Home/End   a plays by itself   q quits"
FORWARD_KEYS, BACK_KEYS = ("right", "down", "space", "enter", "n", "l", "j"), ("left", "up", "backspace", "p", "h", "k")
QUIT_KEYS = ("q", "escape")
STEP_SECONDS = 1.0
TIME_WIDTH = 12
MIN_WIDTH, MAX_WIDTH = 60, 120

StyledLine = tuple[str, str]
"""A line and its style."""


@dataclass(frozen=True, slots=True)
class ReplayedMatch:
    """A match to replay, with the display names of its players."""

    content: Mapping[str, Any]
    player_names: tuple[str, str]
    ending: str
    """The result as a sentence."""
    referee: str = "referee"
    missing_reason: str = ""
    """Why only the result is known; empty if the match file is here."""


def find_match(match: str, league_id: str | None, store: str | None, home: Path | None) -> ReplayedMatch:
    """Find a match by the path of its file or by its id; UserError if there is none, or it isn't finished."""
    path = Path(match)
    if path.suffix == ".json" or len(path.parts) > 1 or path.is_file():
        return _load_from_file(path)
    folder, _ = open_existing_home(home)
    alone = _find_unmanaged_file(folder, match, league_id) if store is None else None
    return _load_from_file(alone) if alone else _load_from_league(match, league_id, store, folder)


def _find_unmanaged_file(home: Path, match: str, league_id: str | None) -> Path | None:
    """Find a match file in a folder without a manager's database, such as a referee's own; UserError if ambiguous."""
    if not is_safe_name(match) or list_leagues(home) or (league_id is not None and not is_safe_name(league_id)):
        return None
    matches = DataPaths(home).data_folder / "matches"
    found = [
        path
        for path in list_match_paths(matches)
        if path.stem == match.upper() and league_id in (None, path.parent.name)
    ]
    if len(found) > 1:
        leagues = ", ".join(path.parent.name for path in found)
        raise UserError(f"{match.upper()} may be of several leagues; choose with --league-id: {leagues}.")
    return found[0] if found else None


def _load_from_file(path: Path) -> ReplayedMatch:
    try:
        content = load_match_file(path)
    except BadMatchFile as error:
        raise UserError(f"{path}: not a match file: {error}") from None
    if not isinstance(content.get("game_type"), str):
        raise UserError(f"{path}: not a match file: it has no 'game_type'")
    players = content.get("players")
    told = players if isinstance(players, dict) else {}
    a, b = (shorten(told.get(role) or role) for role in SEAT_ROLES)
    missing = "it was written by `league rebuild` from the result" if content.get("rebuilt") is True else ""
    if content.get("reported") is True:
        missing = "its referee isn't ours, and told the manager the result alone"
    result = content.get("result")
    reason = (result.get("reason") or result.get("status")) if isinstance(result, dict) else None
    return ReplayedMatch(content, (a, b), str(reason or "No result is told"), _get_referee_id(content), missing)


def _get_referee_id(content: Mapping[str, Any]) -> str:
    return shorten(content.get("referee_id") or "referee")


def _load_from_league(match: str, league_id: str | None, store: str | None, home: Path) -> ReplayedMatch:
    reader = open_league(home, league_id, store).make_reader()
    season = reader.state
    try:
        pairing = season.get_pairing(match if match in season.results else match.upper())
    except Refusal:
        raise UserError(_no_match_sentence(match, [one.match_id for one in season.schedule.pairings])) from None
    view = reader.queries.view_match(pairing)
    result, (a, b) = view.result, view.names.values()
    if result is None:
        finished = next(reversed(season.results), None)
        hint = f"; the latest that is: {finished}" if finished else ""
        raise UserError(f"{view.match_id}, {a} against {b}, is not finished{hint}.")
    filed = read_match(reader.paths, season.league_id, result, view.referee_id)
    known = to_match_content(result, season.config.game_type, season.config.game_parameters)
    told = view.ending
    if filed.content and result.reported_outcome == (str(result.outcome), result.winner):
        told = str(filed.content["result"].get("reason") or told)
    return ReplayedMatch(filed.content or known, (a, b), told, view.referee_id or "referee", filed.missing_reason)


def _no_match_sentence(match: str, known: Sequence[str]) -> str:
    if not known:
        return f"There is no match {quote(match)}: the league has not begun."
    file = "" if is_safe_name(match) else ", and no such file"
    return f"There is no match {quote(match)} in this league{file}; there are {known[0]} to {known[-1]}."


class ReplayViewer:
    """Shows one step of a match at a time and moves by key."""

    def __init__(self, found: ReplayedMatch, again: MatchReplay, auto: float | None = None) -> None:
        self._match = found
        self._replay = again
        self._step_seconds = auto or STEP_SECONDS
        self._last_index = len(again.steps) - 1
        self.position = 0
        self.is_playing = auto is not None

    def run(self, press: KeyReader, show: Any) -> None:
        """Show steps until a key quits; automatic playing stops at the last step."""
        while True:
            show(self.render())
            key = press(self._step_seconds if self.is_playing else None)
            if key in QUIT_KEYS:
                return
            self.handle_key(key)

    def handle_key(self, key: str | None) -> None:
        """Move by a key; None means that no key came in time, and advances automatic playing."""
        self.is_playing = self.is_playing if key is None else (not self.is_playing and key == "a")
        if key is None or key in FORWARD_KEYS:
            self.position = min(self._last_index, self.position + 1)
        elif key in BACK_KEYS:
            self.position = max(0, self.position - 1)
        elif key in ("home", "g"):
            self.position = 0
        elif key in ("end", "G"):
            self.position = self._last_index
        elif key == "a" and self.position == self._last_index:
            self.position = 0
        self.is_playing = self.is_playing and self.position < self._last_index

    def render(self) -> Group:
        again = self._replay
        step = again.steps[self.position]
        foot = f"{'playing   ' if self.is_playing else ''}{self.position} of {self._last_index}   {KEYS_HELP}"
        end = (
            [Text(to_printable(_ending_sentence(self._match, again)), "bold")]
            if self.position == self._last_index
            else []
        )
        return Group(
            *_header_lines(self._match),
            Text(),
            *_step_lines(self._match, again, step),
            Text(),
            *end,
            Text(foot, style="dim"),
        )


def print_all_steps(console: Console, found: ReplayedMatch, again: MatchReplay) -> None:
    """Print a whole match below each other."""
    steps = [line for step in again.steps for line in (Text(), *_step_lines(found, again, step))]
    ending = Text(to_printable(_ending_sentence(found, again)), "bold")
    for line in (*_header_lines(found), *steps, Text(), ending):
        console.print(line, soft_wrap=True)


def _header_lines(found: ReplayedMatch) -> list[Text]:
    content = found.content
    a, b = map(to_printable, found.player_names)
    head = Text.assemble(
        f"{shorten(content.get('match_id', 'A match'))}  ",
        (a, PLAYER_STYLES[0]),
        " (A) against ",
        (b, PLAYER_STYLES[1]),
        " (B)",
    )
    game = Text(
        to_printable(f"{content.get('game_type')}, round {content.get('round_id', '?')}, referee {found.referee}"),
        "dim",
    )
    return [head, game]


def _ending_sentence(found: ReplayedMatch, again: MatchReplay) -> str:
    said = shorten(capitalise(found.ending), MAX_SENTENCE)
    return " ".join(filter(None, (f"{said.removesuffix('.')}.", again.shortfall)))


def _step_lines(found: ReplayedMatch, again: MatchReplay, step: ReplayStep) -> list[Text]:
    """Render a step: its moves, the totals, and the position after it."""
    line = Text(f"Step {step.number}" if step.number else "Start", "bold")
    if again.is_repeated and step.number:
        line.append(f", round {step.round}", "bold")
    for seat, move in sorted(step.moves.items()):
        who = (
            ("drawn", "bold magenta")
            if seat == CHANCE
            else (to_printable(found.player_names[seat]), PLAYER_STYLES[seat])
        )
        line.append("   ").append(*who).append(f" {format_move(move, MAX_WORD)}")
    if step.totals:
        line.append(f"   {' : '.join(map(format_amount, step.totals))}", "bold")
    if not step.is_whole:
        line.append("   the match was aborted here", "red")
    picture = Text(again.render_step(step))
    picture.highlight_regex(r"\bX\b|\bPLAYER_A\b", PLAYER_STYLES[0])
    picture.highlight_regex(r"\bO\b|\bPLAYER_B\b", PLAYER_STYLES[1])
    return [line, *picture.split("\n")]


def replay_to_json(found: ReplayedMatch, again: MatchReplay) -> dict[str, Any]:
    """Return a replayed match as the data of `--json`."""
    names = {0: SEAT_ROLES[0], 1: SEAT_ROLES[1], CHANCE: "draw"}
    told = {
        name: found.content.get(name)
        for name in ("league_id", "match_id", "round_id", "game_type", "players", "result")
    }
    steps = [
        {
            "step": step.number,
            "round": step.round,
            "moves": {names[seat]: move for seat, move in step.moves.items()},
            "view": step.view,
            "totals": step.totals,
            "text": again.render_step(step),
        }
        for step in again.steps
    ]
    return {**told, "names": list(found.player_names), "steps": steps, "shortfall": again.shortfall or None}


def read_match_conversation(found: ReplayedMatch) -> list[ConversationEntry]:
    """Read what referee and players said; UserError if only the result is known."""
    if found.missing_reason:
        raise UserError(f"What was said is not known here: {found.missing_reason}.")
    return read_conversation(found.content, None)


def print_conversation(console: Console, found: ReplayedMatch, said: Iterable[ConversationEntry]) -> None:
    """Print a conversation in three lanes: player A, referee, player B."""
    lanes = (found.player_names[0], found.referee, found.player_names[1])
    for line, style in render_conversation(said, lanes, console.width):
        console.print(Text(to_printable(line), style), soft_wrap=True)


def render_conversation(entries: Iterable[ConversationEntry], names: Sequence[str], width: int) -> Iterator[StyledLine]:
    """Render a conversation in so many columns; `names` are player A's, the referee's and player B's."""
    half = (max(MIN_WIDTH, min(MAX_WIDTH, width)) - TIME_WIDTH - 3) // 2
    side = (2 * half) // 3
    a, referee, b = (shorten(name, side) for name in names)
    yield f"{'':{TIME_WIDTH}}{a:{side}}{referee:^{2 * half + 3 - 2 * side}}{b:>{side}}", "bold"
    for entry in entries:
        yield from _render_entry(entry, half)


def _render_entry(entry: ConversationEntry, half: int) -> Iterator[StyledLine]:
    match entry.kind:
        case "state" | "gap":
            yield f"{'':{TIME_WIDTH}}{f' {entry.text} ':-^{2 * half + 3}}", "dim"
        case "drawn":
            yield f"{entry.since:>{TIME_WIDTH - 2}}  |{f'drawn: {entry.text}':^{2 * half + 1}}|", "magenta"
        case _:
            yield from _render_message(entry, half)


def _render_message(entry: ConversationEntry, half: int) -> Iterator[StyledLine]:
    tries = f"try {entry.attempt}" if entry.attempt > 1 else ""
    label, rest = _split_to_fit([entry.text, *filter(None, (tries, entry.code, entry.gist, entry.latency))], half - 6)
    points_left = entry.is_to_player == (entry.side != 1)
    arrow = f"<{f' {label} ':-^{half - 1}}" if points_left else f"{f' {label} ':-^{half - 1}}>"
    style = "red" if entry.is_bad else "" if entry.is_to_player else "cyan"
    yield f"{entry.since:>{TIME_WIDTH - 2}}  {_place_in_lane(arrow, entry.side, half)}", style
    if rest:
        yield f"{'':{TIME_WIDTH}}{_place_in_lane(f'{rest:^{half}}', entry.side, half)}", style
    if entry.kind == "failed" and (entry.why or entry.code_name):
        yield f"{'':{TIME_WIDTH}}  {entry.code_name}: {entry.why}".rstrip(": "), "red"
    if entry.notes:
        yield f"{'':{TIME_WIDTH}}  tolerated: {'; '.join(entry.notes)}", "yellow"
    for line in entry.reasoning.splitlines():
        yield f"{'':{TIME_WIDTH}}  it says: {line}", "dim"


def _split_to_fit(words: list[str], most: int) -> tuple[str, str]:
    """Split into as many words as fit into a line, and the rest for a second one."""
    first, *rest = words
    while rest and len(first) + 1 + len(rest[0]) <= most:
        first = f"{first} {rest.pop(0)}"
    return shorten(first, most), shorten(" ".join(rest), most)


def _place_in_lane(inside: str, side: int | None, half: int) -> str:
    return f"|{'':{half}}|{inside}|" if side == 1 else f"|{inside}|{'':{half}}|"
