"""The state of a watched league, as its live feed reports it, rendered for a terminal.

The feed is a stranger's data: values are read as bounded text and numbers, and any of them may be missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from agent_league.clock import duration
from agent_league.launch.live_feed import Changed, NotConnected, Remark, Update
from agent_league.model.names import printable
from agent_league.model.result_words import champion, counted
from agent_league.model.results import StandingsRow

WIDE = 110
"""Terminal width from which on two parts are shown side by side."""
LONGEST_TEXT = 300
LARGEST_NUMBER = 10**9
MOST_ROWS = 2000
HEAD_LINES = 4
TROUBLED = ("SUSPENDED",)
LETTERS = {"W": "green", "D": "yellow", "L": "red"}
KINDS = {"trouble": "yellow", "round": "bold", "league": "bold"}

Part = Mapping[str, Any]


class Board:
    """A league as its feed last reported it."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._parts: dict[str, Part] = {}
        self._why_not = "connecting"
        self._remark = ""
        self._boot = ""
        self._latest = 0
        """Number of the latest feed item that became a line."""
        self._lines: list[str] = []

    def take(self, update: Update) -> None:
        match update:
            case Changed():
                if self._why_not and self._why_not != "connecting":
                    self._lines.append("Connected again." if self._parts else "Connected.")
                self._why_not = ""
                if update.boot != self._boot:
                    self._boot, self._latest = update.boot, 0
                self._parts |= update.sections
                self._lines += self._told_news(update)
            case NotConnected():
                if not self._why_not or self._why_not == "connecting":
                    self._lines.append(f"Not connected to {self._endpoint}: {update.why}; trying again.")
                self._why_not = update.why or "no answer"
            case Remark():
                self._remark = update.sentence
                self._lines.append(f"{update.sentence[:1].upper()}{update.sentence[1:]}.")

    @property
    def title(self) -> str:
        return _text(self._part("progress"), "title") or self._endpoint

    @property
    def is_over(self) -> bool:
        return self._part("progress").get("phase") == "COMPLETED"

    @property
    def is_played(self) -> bool:
        """Whether all results are in; the manager may end before it reports that the league is over."""
        progress = self._part("progress")
        return 0 < _number(progress, "matches") <= _number(progress, "played")

    def news_lines(self) -> Iterator[str]:
        """Return the lines that are new since the last call, oldest first."""
        lines, self._lines = self._lines, []
        return map(printable, lines)

    def standings(self) -> list[StandingsRow]:
        return [
            StandingsRow(
                rank=_number(row, "rank"),
                player_id=_text(row, "player_id"),
                display_name=_text(row, "display_name"),
                **{name: _number(row, name) for name in ("played", "wins", "draws", "losses", "points")},
            )
            for row in _rows(self._part("standings"), "rows")
        ]

    def last_word(self) -> str:
        progress = self._part("progress")
        if not self.is_over:
            return f"The manager has left ({self._why_not}); this is the table as it was last told."
        rows = self.standings()
        if progress.get("champion", "") is None or not rows:
            return "The league is over; there is no champion."
        matches, rounds = _number(progress, "matches"), _number(progress, "rounds")
        return f"{champion(rows[0])}, after {counted(matches, 'match')} in {counted(rounds, 'round')}."

    def picture(self, width: int, height: int) -> RenderableType:
        """Render the league for a screen of this size."""
        head = Layout(self._head(width), size=HEAD_LINES)
        body = Layout()
        room = max(height - HEAD_LINES, 3)
        layout = Layout()
        layout.split_column(head, body)
        if not self._parts:
            body.update(Text(""))
        elif width >= WIDE:
            aside = Padding(_stacked(self._aside(room)), (0, 0, 0, 2))
            body.split_row(Layout(self._table(room, width * 3 // 5), ratio=3), Layout(aside, ratio=2))
        else:
            needed = len(_rows(self._part("standings"), "rows")) + 2
            below = self._aside(max(room * 2 // 5, room - needed))
            size = sum(len(lines) for lines in below)
            body.split_column(Layout(self._table(room - size, width)), Layout(_stacked(below), size=max(size, 1)))
        return layout

    def _head(self, width: int) -> RenderableType:
        progress = self._part("progress")
        played, matches = _number(progress, "played"), _number(progress, "matches")
        title = Text.assemble((printable(self.title), "bold"), "  ", (printable(self._state()), "dim"), no_wrap=True)
        if self._why_not:
            line = Text(
                f"Not connected to {printable(self._endpoint)}: {printable(self._why_not)}; trying again", "red"
            )
        else:
            line = Text(printable(self._remark or self._pace()), style="dim")
        count = Text(f"{played}/{matches} matches", no_wrap=True)
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(total=max(matches, 1), completed=played, width=max(width - len(count) - 2, 10)), count)
        line.no_wrap, line.overflow, title.overflow = True, "ellipsis", "ellipsis"
        return Group(title, bar, line)

    def _state(self) -> str:
        progress = self._part("progress")
        phase, players = _text(progress, "phase"), _number(progress, "players")
        game = _text(progress, "game_type")
        about = [game] if game else []
        if phase == "REGISTRATION":
            referees = [self._present("referee")] if "referees" in progress else []
            return " · ".join([*about, "registration", self._present("player"), *referees])
        if phase == "RUNNING":
            round_ = f"round {_number(progress, 'round')} of {_number(progress, 'rounds')}"
            paused = ["paused"] if progress.get("is_paused") is True else []
            return " · ".join([*about, round_, counted(players, "player"), *paused])
        return " · ".join([*about, *(["over"] if phase else [])])

    def _present(self, who: str) -> str:
        """Say how many have registered, and of how many if the league starts at a number."""
        progress = self._part("progress")
        there, awaited = _number(progress, f"{who}s"), _number(progress, f"awaited_{who}s")
        return f"{there} of {counted(awaited, who)}" if awaited else counted(there, who)

    def _pace(self) -> str:
        progress = self._part("progress")
        if trouble := _text(progress, "trouble"):
            return trouble
        left = _number(progress, "seconds_left")
        return f"about {duration(left)} left" if left >= 1 else ""

    def _table(self, lines: int, width: int) -> RenderableType:
        rows = _rows(self._part("standings"), "rows")
        shown = rows if len(rows) < lines else rows[: max(lines - 2, 1)]
        has_form = width >= 70 and any(_rows(row, "form") for row in rows)
        table = Table(box=None, padding=(0, 1), expand=True, header_style="bold")
        table.add_column("#", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        table.add_column("Player", no_wrap=True)
        table.add_column("Name", ratio=1, no_wrap=True, overflow="ellipsis")
        for heading in ("Pld", "W", "D", "L", "Pts"):
            table.add_column(heading, justify="right", no_wrap=True)
        if has_form:
            table.add_column("Form", no_wrap=True)
        for row in shown:
            troubled = "yellow" if row.get("state") in TROUBLED else ""
            numbers = [str(_number(row, name)) for name in ("played", "wins", "draws", "losses", "points")]
            named = [Text(_text(row, name), style=troubled) for name in ("player_id", "display_name")]
            form = [_form(row)] if has_form else []
            table.add_row(str(_number(row, "rank")), _moved(row), *named, *numbers, *form)
        if len(shown) < len(rows):
            table.add_row("", "", "", Text(f"and {len(rows) - len(shown)} more", style="dim"))
        return table

    def _aside(self, lines: int) -> list[list[Text]]:
        """Make the blocks for matches, news and agents in trouble; together at most so many lines."""
        trouble = _block("In trouble", self._trouble(), max(lines // 4, 2))
        rest = lines - len(trouble)
        matches, news = self._matches(), self._news()
        for_news = max(rest - len(matches) - 1, rest // 2)
        for_matches = rest - min(len(news) + 1, for_news)
        blocks = (_block(self._round_title(), matches, for_matches), _block("News", news, for_news), trouble)
        return [block for block in blocks if block]

    def _round_title(self) -> str:
        round_ = self._part("round")
        states = [match.get("state") for match in _rows(round_, "matches")]
        done, busy = states.count("finished"), states.count("playing")
        return f"Round {_number(round_, 'round_id')}: {done} of {len(states)} finished, {busy} being played"

    def _matches(self) -> list[Text]:
        """Render the round's matches: running ones first, then finished, then waiting ones."""
        order = {"playing": 0, "finished": 1}
        matches = _rows(self._part("round"), "matches")
        return [_match(match) for match in sorted(matches, key=lambda match: order.get(str(match.get("state")), 2))]

    def _news(self) -> list[Text]:
        return [
            Text.assemble(
                (f"{_text(item, 'at')[11:19]} ", "dim"), (_sentence(item), KINDS.get(_text(item, "kind"), ""))
            )
            for item in _rows(self._part("feed"), "items")
        ]

    def _trouble(self) -> list[Text]:
        found = []
        for row in _rows(self._part("agents"), "rows"):
            state, failures = _text(row, "state"), _number(row, "failures")
            barred = row.get("is_barred") is True
            if state in TROUBLED or failures or barred:
                what = _text(row, "state_words") or state.lower()
                failed = f", {failures} failures in a row" if failures else ""
                name = f"{_text(row, 'agent_id')} {_text(row, 'display_name')}"
                found.append(Text(f"{name}: {what}{failed}", style="yellow"))
        return found

    def _told_news(self, update: Changed) -> list[str]:
        """Format the new feed items of an update, oldest first, after a line that counts skipped ones."""
        items = [item for item in _rows(update.sections.get("feed", {}), "items") if _number(item, "number")]
        new = sorted((item for item in items if _number(item, "number") > self._latest), key=_by_number)
        if not new:
            return []
        missed = _by_number(new[0]) - self._latest - 1 if self._latest else 0
        self._latest = _by_number(new[-1])
        lines = [f"{_text(item, 'at')[:19].replace('T', ' ')} {_sentence(item)}".strip() for item in new]
        return [*([f"(and {missed} more in between)"] if missed > 0 else []), *lines]

    def _part(self, name: str) -> Part:
        return self._parts.get(name, {})


def _block(title: str, lines: Sequence[Text], most: int) -> list[Text]:
    """Make a block of a title and as many lines as there is room for; empty without lines."""
    return [Text(title, style="bold underline"), *lines[: most - 1]] if lines and most > 1 else []


def _stacked(blocks: Sequence[Sequence[Text]]) -> RenderableType:
    lines = [line for block in blocks for line in block]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def _match(match: Part) -> Text:
    players = _rows(match, "players")
    first, second = (*(_text(player, "display_name") for player in players), "", "")[:2]
    state, winner = _text(match, "state"), match.get("winner")
    ids = [player.get("player_id") for player in players]
    line = Text(f"{_text(match, 'match_id')}  ")
    for name, player_id in zip((first, second), (*ids, None, None), strict=False):
        line.append(name, "bold green" if winner and player_id == winner else "")
        if name is first:
            line.append(" - ")
    if state == "playing":
        return line.append(f"  {_text(match, 'referee_id')}", "cyan")
    if state != "finished":
        line.stylize("dim")
        return line
    if match.get("outcome") == "DRAW":
        line.append("  draw", "yellow")
    return line.append(f"  {_text(match, 'note')}".rstrip(), "yellow")


def _moved(row: Part) -> Text:
    moved = _number(row, "moved")
    if not moved:
        return Text("")
    return Text(f"▲{moved}", "green") if moved > 0 else Text(f"▼{-moved}", "red")


def _form(row: Part) -> Text:
    letters = [_text(item, "letter") for item in _rows(row, "form")]
    return Text(" ").join(Text(letter, LETTERS.get(letter[:1], "")) for letter in letters)


def _sentence(item: Part) -> str:
    return f"{_text(item, 'label')} {_text(item, 'text')}".strip()


def _by_number(item: Part) -> int:
    return _number(item, "number")


def _text(part: Part, name: str) -> str:
    value = part.get(name)
    return printable(value[:LONGEST_TEXT]) if isinstance(value, str) else ""


def _number(part: Part, name: str) -> int:
    value = part.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(max(-LARGEST_NUMBER, min(value, LARGEST_NUMBER)))


def _rows(part: Part, name: str) -> list[Part]:
    value = part.get(name)
    return [item for item in value[:MOST_ROWS] if isinstance(item, dict)] if isinstance(value, list) else []
