"""`league replay`: show a finished match step by step, from its match file or from the league's database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from agent_league.cli.options import LookedAt, Store, open_existing_home, open_league, put_out
from agent_league.errors import Refusal, UserError
from agent_league.model.names import is_safe_name, printable

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

    from agent_league.cli.replay_keys import Press
    from agent_league.referee.replay import Replay, Step

STYLES = ("bold blue", "bold yellow")
KEYS = "←/→ step   Home/End   a plays by itself   q quits"
FORWARD, BACK = ("right", "down", "space", "enter", "n", "l", "j"), ("left", "up", "backspace", "p", "h", "k")
QUIT = ("q", "escape")
PACE = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """A match to replay, with the display names of its players."""

    content: Mapping[str, Any]
    names: tuple[str, str]
    ending: str
    """The result as a sentence."""
    referee: str = "referee"
    missing: str = ""
    """Why only the result is known; empty if the match file is here."""


def replay(
    match: Annotated[
        str, typer.Argument(metavar="MATCH", help="A match of the league, such as R3M2, or a match file.")
    ],
    league_id: Annotated[
        str | None, typer.Option(help="The league (default: the one that runs, or the latest).")
    ] = None,
    auto: Annotated[
        float | None, typer.Option(min=0.05, max=60, help="Go on by itself, a step every so many seconds.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print all steps and end.")] = False,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="Print what referee and players said to each other.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    store: Store = None,
    home: LookedAt = None,
) -> None:
    """Show a finished match step by step: arrow keys, space, Home and End go through it, q ends."""
    from rich.console import Console

    from agent_league.cli.replay_keys import are_read, pressed
    from agent_league.referee.replay import replay as replay_file

    found = _found(match, league_id, store, home)
    if conversation:
        _tell_conversation(found, json=json)
        return
    again = replay_file(found.content)
    if json:
        put_out(orjson.dumps(_as_json(found, again), option=orjson.OPT_NON_STR_KEYS))
        return
    console = Console(highlight=False)
    if everything or not again.steps or not are_read():
        _print_all(console, found, again)
        return
    with pressed() as press, console.screen(hide_cursor=True) as screen:
        Walk(found, again, auto).go(press, screen.update)


class Walk:
    """Shows one step of a match at a time and moves by key."""

    def __init__(self, found: Found, again: "Replay", auto: float | None = None) -> None:
        self._found = found
        self._again = again
        self._pace = auto or PACE
        self._last = len(again.steps) - 1
        self.at = 0
        self.plays = auto is not None

    def go(self, press: "Press", show: Any) -> None:
        """Show steps until a key quits; automatic playing stops at the last step."""
        while True:
            show(self.picture())
            key = press(self._pace if self.plays else None)
            if key in QUIT:
                return
            self.take(key)

    def take(self, key: str | None) -> None:
        """Move by a key; None means that no key came in time, and advances automatic playing."""
        self.plays = self.plays if key is None else (not self.plays and key == "a")
        if key is None or key in FORWARD:
            self.at = min(self._last, self.at + 1)
        elif key in BACK:
            self.at = max(0, self.at - 1)
        elif key in ("home", "g"):
            self.at = 0
        elif key in ("end", "G"):
            self.at = self._last
        elif key == "a" and self.at == self._last:
            self.at = 0
        self.plays = self.plays and self.at < self._last

    def picture(self) -> "Group":
        from rich.console import Group
        from rich.text import Text

        again = self._again
        step = again.steps[self.at]
        foot = f"{'playing   ' if self.plays else ''}{self.at} of {self._last}   {KEYS}"
        end = [Text(printable(_ending(self._found, again)), "bold")] if self.at == self._last else []
        return Group(
            *_head(self._found), Text(), *_step_lines(self._found, again, step), Text(), *end, Text(foot, style="dim")
        )


def _found(match: str, league_id: str | None, store: str | None, home: Path | None) -> Found:
    path = Path(match)
    if path.suffix == ".json" or len(path.parts) > 1 or path.is_file():
        return _from_file(path)
    folder, _ = open_existing_home(home)
    alone = _file_alone(folder, match, league_id) if store is None else None
    return _from_file(alone) if alone else _from_league(match, league_id, store, folder)


def _file_alone(home: Path, match: str, league_id: str | None) -> Path | None:
    """Find a match file in a folder without a manager's database, such as a referee's own; UserError if ambiguous."""
    from agent_league.launch.stored_leagues import leagues_in
    from agent_league.storage.paths import DataPaths

    if not is_safe_name(match) or leagues_in(home) or (league_id is not None and not is_safe_name(league_id)):
        return None
    found = sorted(DataPaths(home).data.glob(f"matches/{league_id or '*'}/{match.upper()}.json"))
    if len(found) > 1:
        leagues = ", ".join(path.parent.name for path in found)
        raise UserError(f"{match.upper()} may be of several leagues; choose with --league-id: {leagues}.")
    return found[0] if found else None


def _from_file(path: Path) -> Found:
    from agent_league.league.match_files import BadMatchFile, load_match_file
    from agent_league.referee.match import ROLES

    try:
        content = load_match_file(path)
    except BadMatchFile as error:
        raise UserError(f"{path}: not a match file: {error}") from None
    if not isinstance(content.get("game_type"), str):
        raise UserError(f"{path}: not a match file: it has no 'game_type'")
    players = content.get("players")
    told = players if isinstance(players, dict) else {}
    a, b = (str(told.get(role) or role)[:100] for role in ROLES)
    missing = "it was written by `league rebuild` from the result" if content.get("rebuilt") is True else ""
    if content.get("reported") is True:
        missing = "its referee isn't ours, and told the manager the result alone"
    result = content.get("result")
    reason = (result.get("reason") or result.get("status")) if isinstance(result, dict) else None
    return Found(content, (a, b), str(reason or "No result is told"), _id(content), missing)


def _id(content: Mapping[str, Any]) -> str:
    return str(content.get("referee_id") or "referee")[:100]


def _from_league(match: str, league_id: str | None, store: str | None, home: Path) -> Found:
    from agent_league.league.match_files import read_match
    from agent_league.model.result_words import ending
    from agent_league.referee.replay import known_of

    reader = open_league(home, league_id, store).reader()
    season = reader.season
    try:
        pairing = season.pairing(match if match in season.results else match.upper())
    except Refusal:
        raise UserError(_no_match(match, [one.match_id for one in season.schedule.pairings])) from None
    names = reader.names
    a, b = ((names.get(player_id) or player_id) for player_id in pairing.players)
    result, referee_id = season.results.get(pairing.match_id), season.assigned.get(pairing.match_id)
    if result is None:
        finished = next(reversed(season.results), None)
        hint = f"; the latest that is: {finished}" if finished else ""
        raise UserError(f"{pairing.match_id}, {a} against {b}, is not finished{hint}.")
    filed = read_match(reader.paths, season.league_id, result, referee_id)
    known = known_of(result, season.league.game_type, season.league.game_parameters)
    told = ending(result, names)
    if filed.content and result.reported == (str(result.outcome), result.winner):
        told = str(filed.content["result"].get("reason") or told)
    return Found(filed.content or known, (a, b), told, referee_id or "referee", filed.shortfall)


def _no_match(match: str, known: Sequence[str]) -> str:
    if not known:
        return f"There is no match {match[:40]!r}: the league has not begun."
    file = "" if is_safe_name(match) else ", and no such file"
    return f"There is no match {match[:40]!r} in this league{file}; there are {known[0]} to {known[-1]}."


def _print_all(console: "Console", found: Found, again: "Replay") -> None:
    from rich.text import Text

    for line in _head(found):
        console.print(line, soft_wrap=True)
    for step in again.steps:
        console.print()
        for line in _step_lines(found, again, step):
            console.print(line, soft_wrap=True)
    console.print()
    console.print(Text(printable(_ending(found, again)), "bold"), soft_wrap=True)


def _head(found: Found) -> list["Text"]:
    from rich.text import Text

    content = found.content
    a, b = map(printable, found.names)
    head = Text.assemble(
        f"{content.get('match_id', 'A match')!s:.40}  ", (a, STYLES[0]), " (A) against ", (b, STYLES[1]), " (B)"
    )
    game = Text(
        printable(f"{content.get('game_type')}, round {content.get('round_id', '?')}, referee {found.referee}"), "dim"
    )
    return [head, game]


def _ending(found: Found, again: "Replay") -> str:
    said = found.ending[:1].upper() + found.ending[1:500]
    return " ".join(filter(None, (f"{said.removesuffix('.')}.", again.shortfall)))


def _step_lines(found: Found, again: "Replay", step: "Step") -> list["Text"]:
    """Render a step: its moves, the totals, and the position after it."""
    from rich.text import Text

    from agent_league.games.base import CHANCE
    from agent_league.games.shared_views import amount, move_text

    line = Text(f"Step {step.number}" if step.number else "Start", "bold")
    if again.is_repeated and step.number:
        line.append(f", round {step.round}", "bold")
    for seat, move in sorted(step.moves.items()):
        who = ("drawn", "bold magenta") if seat == CHANCE else (printable(found.names[seat]), STYLES[seat])
        line.append("   ").append(*who).append(f" {printable(move_text(move))}")
    if step.totals:
        line.append(f"   {' : '.join(map(amount, step.totals))}", "bold")
    if not step.is_whole:
        line.append("   the match broke off here", "red")
    picture = Text(again.text(step))
    picture.highlight_regex(r"\bX\b|\bPLAYER_A\b", STYLES[0])
    picture.highlight_regex(r"\bO\b|\bPLAYER_B\b", STYLES[1])
    return [line, *picture.split("\n")]


def _tell_conversation(found: Found, *, json: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    from agent_league.cli.conversation_lanes import lanes
    from agent_league.web.match.conversation import conversation

    if found.missing:
        raise UserError(f"What was said is not known here: {found.missing}.")
    said = conversation(found.content, None)
    if json:
        put_out(orjson.dumps({"match_id": found.content.get("match_id"), "conversation": said}))
        return
    console = Console(highlight=False)
    for line, style in lanes(said, (found.names[0], found.referee, found.names[1]), console.width):
        console.print(Text(printable(line), style), soft_wrap=True)


def _as_json(found: Found, again: "Replay") -> dict[str, Any]:
    from agent_league.games.base import CHANCE
    from agent_league.referee.match import ROLES

    names = {0: ROLES[0], 1: ROLES[1], CHANCE: "draw"}
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
            "text": again.text(step),
        }
        for step in again.steps
    ]
    return {**told, "names": list(found.names), "steps": steps, "shortfall": again.shortfall or None}
