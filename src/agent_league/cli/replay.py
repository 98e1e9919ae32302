"""`league replay`: show a finished match step by step, from its match file or from the league's database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import (
    ExistingHomeOption,
    JsonOption,
    StoredLeagueOption,
    StoreOption,
    open_existing_home,
    open_league,
)
from agent_league.cli.terminal import print_json
from agent_league.errors import Refusal, UserError
from agent_league.model.names import is_safe_name
from agent_league.text import to_printable

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

    from agent_league.cli.replay_keys import KeyReader
    from agent_league.referee.replay import MatchReplay, ReplayStep

PLAYER_STYLES = ("bold blue", "bold yellow")
KEYS_HELP = "←/→ step   Home/End   a plays by itself   q quits"
FORWARD_KEYS, BACK_KEYS = ("right", "down", "space", "enter", "n", "l", "j"), ("left", "up", "backspace", "p", "h", "k")
QUIT_KEYS = ("q", "escape")
STEP_SECONDS = 1.0


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


def replay(
    match: Annotated[
        str, typer.Argument(metavar="MATCH", help="A match of the league, such as R3M2, or a match file.")
    ],
    league_id: StoredLeagueOption = None,
    auto: Annotated[
        float | None, typer.Option(min=0.05, max=60, help="Go on by itself, a step every so many seconds.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print all steps and end.")] = False,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="Print what referee and players said to each other.")
    ] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    home: ExistingHomeOption = None,
) -> None:
    """Show a finished match step by step: arrow keys, space, Home and End go through it, q ends."""
    from rich.console import Console

    from agent_league.cli.replay_keys import can_read_keys, read_keys
    from agent_league.referee.replay import replay_match as replay_file

    found = _find_match(match, league_id, store, home)
    if conversation:
        _print_conversation(found, json=json)
        return
    again = replay_file(found.content)
    if json:
        print_json(_to_json(found, again))
        return
    console = Console(highlight=False)
    if everything or not again.steps or not can_read_keys():
        _print_all_steps(console, found, again)
        return
    with read_keys() as press, console.screen(hide_cursor=True) as screen:
        ReplayViewer(found, again, auto).run(press, screen.update)


class ReplayViewer:
    """Shows one step of a match at a time and moves by key."""

    def __init__(self, found: ReplayedMatch, again: "MatchReplay", auto: float | None = None) -> None:
        self._match = found
        self._replay = again
        self._step_seconds = auto or STEP_SECONDS
        self._last_index = len(again.steps) - 1
        self.position = 0
        self.is_playing = auto is not None

    def run(self, press: "KeyReader", show: Any) -> None:
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

    def render(self) -> "Group":
        from rich.console import Group
        from rich.text import Text

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


def _find_match(match: str, league_id: str | None, store: str | None, home: Path | None) -> ReplayedMatch:
    path = Path(match)
    if path.suffix == ".json" or len(path.parts) > 1 or path.is_file():
        return _load_from_file(path)
    folder, _ = open_existing_home(home)
    alone = _find_unmanaged_file(folder, match, league_id) if store is None else None
    return _load_from_file(alone) if alone else _load_from_league(match, league_id, store, folder)


def _find_unmanaged_file(home: Path, match: str, league_id: str | None) -> Path | None:
    """Find a match file in a folder without a manager's database, such as a referee's own; UserError if ambiguous."""
    from agent_league.launch.stored_leagues import list_leagues
    from agent_league.storage.paths import DataPaths

    if not is_safe_name(match) or list_leagues(home) or (league_id is not None and not is_safe_name(league_id)):
        return None
    found = sorted(DataPaths(home).data_folder.glob(f"matches/{league_id or '*'}/{match.upper()}.json"))
    if len(found) > 1:
        leagues = ", ".join(path.parent.name for path in found)
        raise UserError(f"{match.upper()} may be of several leagues; choose with --league-id: {leagues}.")
    return found[0] if found else None


def _load_from_file(path: Path) -> ReplayedMatch:
    from agent_league.league.match_files import BadMatchFile, load_match_file
    from agent_league.referee.match import SEAT_ROLES

    try:
        content = load_match_file(path)
    except BadMatchFile as error:
        raise UserError(f"{path}: not a match file: {error}") from None
    if not isinstance(content.get("game_type"), str):
        raise UserError(f"{path}: not a match file: it has no 'game_type'")
    players = content.get("players")
    told = players if isinstance(players, dict) else {}
    a, b = (str(told.get(role) or role)[:100] for role in SEAT_ROLES)
    missing = "it was written by `league rebuild` from the result" if content.get("rebuilt") is True else ""
    if content.get("reported") is True:
        missing = "its referee isn't ours, and told the manager the result alone"
    result = content.get("result")
    reason = (result.get("reason") or result.get("status")) if isinstance(result, dict) else None
    return ReplayedMatch(content, (a, b), str(reason or "No result is told"), _get_referee_id(content), missing)


def _get_referee_id(content: Mapping[str, Any]) -> str:
    return str(content.get("referee_id") or "referee")[:100]


def _load_from_league(match: str, league_id: str | None, store: str | None, home: Path) -> ReplayedMatch:
    from agent_league.league.match_files import read_match
    from agent_league.model.result_words import describe_ending
    from agent_league.referee.replay import to_match_content

    reader = open_league(home, league_id, store).make_reader()
    season = reader.state
    try:
        pairing = season.get_pairing(match if match in season.results else match.upper())
    except Refusal:
        raise UserError(_no_match_sentence(match, [one.match_id for one in season.schedule.pairings])) from None
    names = reader.player_names
    a, b = ((names.get(player_id) or player_id) for player_id in pairing.players)
    result, referee_id = season.results.get(pairing.match_id), season.assigned_referees.get(pairing.match_id)
    if result is None:
        finished = next(reversed(season.results), None)
        hint = f"; the latest that is: {finished}" if finished else ""
        raise UserError(f"{pairing.match_id}, {a} against {b}, is not finished{hint}.")
    filed = read_match(reader.paths, season.league_id, result, referee_id)
    known = to_match_content(result, season.config.game_type, season.config.game_parameters)
    told = describe_ending(result, names)
    if filed.content and result.reported_outcome == (str(result.outcome), result.winner):
        told = str(filed.content["result"].get("reason") or told)
    return ReplayedMatch(filed.content or known, (a, b), told, referee_id or "referee", filed.missing_reason)


def _no_match_sentence(match: str, known: Sequence[str]) -> str:
    if not known:
        return f"There is no match {match[:40]!r}: the league has not begun."
    file = "" if is_safe_name(match) else ", and no such file"
    return f"There is no match {match[:40]!r} in this league{file}; there are {known[0]} to {known[-1]}."


def _print_all_steps(console: "Console", found: ReplayedMatch, again: "MatchReplay") -> None:
    from rich.text import Text

    for line in _header_lines(found):
        console.print(line, soft_wrap=True)
    for step in again.steps:
        console.print()
        for line in _step_lines(found, again, step):
            console.print(line, soft_wrap=True)
    console.print()
    console.print(Text(to_printable(_ending_sentence(found, again)), "bold"), soft_wrap=True)


def _header_lines(found: ReplayedMatch) -> list["Text"]:
    from rich.text import Text

    content = found.content
    a, b = map(to_printable, found.player_names)
    head = Text.assemble(
        f"{content.get('match_id', 'A match')!s:.40}  ",
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


def _ending_sentence(found: ReplayedMatch, again: "MatchReplay") -> str:
    said = found.ending[:1].upper() + found.ending[1:500]
    return " ".join(filter(None, (f"{said.removesuffix('.')}.", again.shortfall)))


def _step_lines(found: ReplayedMatch, again: "MatchReplay", step: "ReplayStep") -> list["Text"]:
    """Render a step: its moves, the totals, and the position after it."""
    from rich.text import Text

    from agent_league.games.base import CHANCE
    from agent_league.games.shared_views import format_amount, format_short_move

    line = Text(f"Step {step.number}" if step.number else "Start", "bold")
    if again.is_repeated and step.number:
        line.append(f", round {step.round}", "bold")
    for seat, move in sorted(step.moves.items()):
        who = (
            ("drawn", "bold magenta")
            if seat == CHANCE
            else (to_printable(found.player_names[seat]), PLAYER_STYLES[seat])
        )
        line.append("   ").append(*who).append(f" {to_printable(format_short_move(move))}")
    if step.totals:
        line.append(f"   {' : '.join(map(format_amount, step.totals))}", "bold")
    if not step.is_whole:
        line.append("   the match was aborted here", "red")
    picture = Text(again.render_step(step))
    picture.highlight_regex(r"\bX\b|\bPLAYER_A\b", PLAYER_STYLES[0])
    picture.highlight_regex(r"\bO\b|\bPLAYER_B\b", PLAYER_STYLES[1])
    return [line, *picture.split("\n")]


def _print_conversation(found: ReplayedMatch, *, json: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    from agent_league.cli.conversation_lanes import render_conversation
    from agent_league.web.match.conversation import read_conversation

    if found.missing_reason:
        raise UserError(f"What was said is not known here: {found.missing_reason}.")
    said = read_conversation(found.content, None)
    if json:
        print_json({"match_id": found.content.get("match_id"), "conversation": said})
        return
    console = Console(highlight=False)
    for line, style in render_conversation(
        said, (found.player_names[0], found.referee, found.player_names[1]), console.width
    ):
        console.print(Text(to_printable(line), style), soft_wrap=True)


def _to_json(found: ReplayedMatch, again: "MatchReplay") -> dict[str, Any]:
    from agent_league.games.base import CHANCE
    from agent_league.referee.match import SEAT_ROLES

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
