"""The state of a watched league, as its live feed reports it, rendered for a terminal.

The feed is a stranger's data: values are read as bounded text and numbers, and any of them may be missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from agent_league.clock import format_countdown, format_duration, parse_utc
from agent_league.config.models import Tiebreaker
from agent_league.launch.live_feed import FeedChange, FeedDisconnected, FeedRemark, FeedUpdate
from agent_league.model.model_usage import ModelUsage
from agent_league.model.result_words import format_champions, format_count
from agent_league.model.results import StandingsRow
from agent_league.text import MAX_SENTENCE, capitalise, to_printable

TWO_COLUMN_WIDTH = 110
"""Terminal width from which on two parts are shown side by side."""
MAX_NUMBER = 10**9
MAX_ROWS = 2000
HEAD_LINES = 4
TROUBLED_STATES = ("SUSPENDED",)
FORM_STYLES = {"W": "green", "D": "yellow", "L": "red"}
NEWS_STYLES = {"trouble": "yellow", "round": "bold", "league": "bold"}

FeedSection = Mapping[str, Any]
TIEBREAKERS: tuple[str, ...] = get_args(Tiebreaker)


class WatchedLeague:
    """A league as its feed last reported it."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._sections: dict[str, FeedSection] = {}
        self._connection_problem = "connecting"
        self._last_remark = ""
        self._boot_id = ""
        self._latest_number = 0
        """Number of the latest feed item that became a line."""
        self._pending_lines: list[str] = []

    def apply_update(self, update: FeedUpdate) -> None:
        match update:
            case FeedChange():
                if self._connection_problem and self._connection_problem != "connecting":
                    self._pending_lines.append("Connected again." if self._sections else "Connected.")
                self._connection_problem = ""
                if update.boot != self._boot_id:
                    self._boot_id, self._latest_number = update.boot, 0
                self._sections |= update.sections
                self._pending_lines += self._format_new_items(update)
            case FeedDisconnected():
                if not self._connection_problem or self._connection_problem == "connecting":
                    self._pending_lines.append(f"Not connected to {self._endpoint}: {update.reason}; trying again.")
                self._connection_problem = update.reason or "no answer"
            case FeedRemark():
                self._last_remark = update.sentence
                self._pending_lines.append(f"{capitalise(update.sentence)}.")

    @property
    def title(self) -> str:
        return _read_text(self._section("progress"), "title") or self._endpoint

    @property
    def is_over(self) -> bool:
        return self._section("progress").get("phase") == "COMPLETED"

    @property
    def has_all_results(self) -> bool:
        """Whether all results are in; the manager may end before it reports that the league is over."""
        progress = self._section("progress")
        return 0 < _read_number(progress, "matches") <= _read_number(progress, "played")

    def drain_lines(self) -> Iterator[str]:
        """Return the lines that are new since the last call, oldest first."""
        lines, self._pending_lines = self._pending_lines, []
        return map(to_printable, lines)

    def standings_rows(self) -> list[StandingsRow]:
        return [
            StandingsRow(
                rank=_read_number(row, "rank"),
                player_id=_read_text(row, "player_id"),
                display_name=_read_text(row, "display_name"),
                played=_read_number(row, "played"),
                wins=_read_number(row, "wins"),
                draws=_read_number(row, "draws"),
                losses=_read_number(row, "losses"),
                points=_read_number(row, "points"),
                shared_rank=_read_number(row, "shared_rank"),
                tiebreaks=_read_tiebreaks(row),
            )
            for row in _read_rows(self._section("standings"), "rows")
        ]

    def read_model_usage(self) -> dict[str, ModelUsage]:
        """Read what the players' language models used, by player."""
        rows = _read_rows(self._section("models"), "rows")
        found = {_read_text(row, "player_id"): ModelUsage.from_json(row) for row in rows}
        return {player_id: used for player_id, used in found.items() if player_id and used}

    def closing_sentence(self) -> str:
        progress = self._section("progress")
        if not self.is_over:
            return f"The manager has left ({self._connection_problem}); this is the table as it was last told."
        rows = self.standings_rows()
        if progress.get("champion", "") is None or not rows:
            return "The league is over; there is no champion."
        matches, rounds = _read_number(progress, "matches"), _read_number(progress, "rounds")
        champions = format_champions(rows, has_play_off=bool(progress.get("has_play_off")))
        return f"{champions}, after {format_count(matches, 'match')} in {format_count(rounds, 'round')}."

    def render(self, width: int, height: int) -> RenderableType:
        """Render the league for a screen of this size."""
        head = Layout(self._render_head(width), size=HEAD_LINES)
        body = Layout()
        room = max(height - HEAD_LINES, 3)
        layout = Layout()
        layout.split_column(head, body)
        if not self._sections:
            body.update(Text(""))
        elif width >= TWO_COLUMN_WIDTH:
            aside = Padding(_stack_blocks(self._side_blocks(room)), (0, 0, 0, 2))
            body.split_row(Layout(self._render_table(room, width * 3 // 5), ratio=3), Layout(aside, ratio=2))
        else:
            below = self._side_blocks(max(room * 2 // 5, room - self._count_table_lines()))
            size = sum(len(lines) for lines in below)
            body.split_column(
                Layout(self._render_table(room - size, width)), Layout(_stack_blocks(below), size=max(size, 1))
            )
        return layout

    def _render_table(self, lines: int, width: int) -> RenderableType:
        """Render who is how far: the bracket or the groups that are played, or else the standings."""
        if levels := self._bracket_lines():
            return _stack_blocks([_cut_lines(levels, lines)])
        if groups := self._current_groups():
            return _render_groups(groups, lines)
        return self._render_standings(lines, width)

    def _count_table_lines(self) -> int:
        if levels := self._bracket_lines():
            return len(levels) + 1
        if groups := self._current_groups():
            return sum(len(_read_rows(group, "rows")) + 1 for group in groups) + 2
        return len(_read_rows(self._section("standings"), "rows")) + 2

    def _current_groups(self) -> list[FeedSection]:
        """Return the groups while they are played."""
        section = self._section("groups")
        return _read_rows(section, "groups") if section.get("is_current") is True else []

    def _bracket_lines(self) -> list[Text]:
        """Render the bracket while it is played, a line for each series: levels in play first, then the latest."""
        section = self._section("bracket")
        drawings = section.get("drawings")
        if section.get("is_current") is not True or not isinstance(drawings, list):
            return []
        pieces = [piece for drawing in drawings if isinstance(drawing, list) for piece in drawing]
        columns = [column for piece in pieces if isinstance(piece, dict) for column in _read_rows(piece, "columns")]
        states = [[_read_text(box, "state") for box in _read_rows(column, "boxes")] for column in columns]
        begun = [(("playing" in state), at) for at, state in enumerate(states) if set(state) - {"waiting"}]
        lines: list[Text] = []
        for _, at in sorted(begun, reverse=True):
            lines.append(Text(_read_text(columns[at], "title"), style="bold underline"))
            boxes = _read_rows(columns[at], "boxes")
            lines += map(_render_series, sorted(boxes, key=lambda box: box.get("state") != "playing"))
        return lines[:MAX_ROWS]

    def _render_head(self, width: int) -> RenderableType:
        progress = self._section("progress")
        played, matches = _read_number(progress, "played"), _read_number(progress, "matches")
        title = Text.assemble(
            (to_printable(self.title), "bold"), "  ", (to_printable(self._describe_phase()), "dim"), no_wrap=True
        )
        if self._connection_problem:
            line = Text(
                f"Not connected to {to_printable(self._endpoint)}: {to_printable(self._connection_problem)}; "
                "trying again",
                "red",
            )
        else:
            line = Text(to_printable(self._last_remark or self._describe_pace()), style="dim")
        count = Text(f"{played}/{matches} matches", no_wrap=True)
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(total=max(matches, 1), completed=played, width=max(width - len(count) - 2, 10)), count)
        line.no_wrap, line.overflow, title.overflow = True, "ellipsis", "ellipsis"
        return Group(title, bar, line)

    def _describe_phase(self) -> str:
        progress = self._section("progress")
        phase, players = _read_text(progress, "phase"), _read_number(progress, "players")
        game = _read_text(progress, "game_type")
        about = [game] if game else []
        if phase == "REGISTRATION":
            referees = [self._count_present("referee")] if "referees" in progress else []
            return " · ".join([*about, "registration", self._count_present("player"), *referees])
        if phase == "RUNNING":
            has_end = progress.get("has_more_rounds") is not True
            total = f" of {_read_number(progress, 'rounds')}" if has_end else ""
            round_ = f"round {_read_number(progress, 'round')}{total}"
            paused = ["paused"] if progress.get("is_paused") is True else []
            return " · ".join([*about, round_, format_count(players, "player"), *paused])
        return " · ".join([*about, *(["over"] if phase else [])])

    def _count_present(self, who: str) -> str:
        """Say how many have registered, and of how many if the league starts at a number."""
        progress = self._section("progress")
        there, awaited = _read_number(progress, f"{who}s"), _read_number(progress, f"awaited_{who}s")
        return f"{there} of {format_count(awaited, who)}" if awaited else format_count(there, who)

    def _describe_pace(self) -> str:
        progress = self._section("progress")
        if trouble := _read_text(progress, "trouble"):
            return trouble
        left = _read_number(progress, "seconds_left")
        pace = f"about {format_duration(left)} left" if left >= 1 else ""
        return " · ".join(filter(None, (*self._describe_times(), pace, _read_text(progress, "stage"))))

    def _describe_times(self) -> list[str]:
        """Say why the league waits and what is due next, counted down by this machine's clock."""
        times = self._section("progress").get("times")
        if not isinstance(times, dict):
            return []
        said = [_read_text(times, "delay")]
        for step in _read_rows(times, "steps")[:1]:
            at = parse_utc(_read_text(step, "at"))
            countdown = f" ({format_countdown(at, datetime.now(UTC))})" if at else ""
            said.append(f"{_read_text(step, 'label')} {_read_text(step, 'local')}{countdown}")
        return [*said, "agents are frozen" if times.get("is_frozen") is True else ""]

    def _render_standings(self, lines: int, width: int) -> RenderableType:
        rows = _read_rows(self._section("standings"), "rows")
        shown = rows if len(rows) < lines else rows[: max(lines - 2, 1)]
        has_form = width >= 70 and any(_read_rows(row, "form") for row in rows)
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
            troubled = "yellow" if row.get("state") in TROUBLED_STATES else ""
            numbers = [str(_read_number(row, name)) for name in ("played", "wins", "draws", "losses", "points")]
            named = [Text(_read_text(row, name), style=troubled) for name in ("player_id", "display_name")]
            form = [_render_form(row)] if has_form else []
            rank = _read_number(row, "shared_rank") or _read_number(row, "rank")
            table.add_row(str(rank), _render_rank_change(row), *named, *numbers, *form)
        if len(shown) < len(rows):
            table.add_row("", "", "", Text(f"and {len(rows) - len(shown)} more", style="dim"))
        return table

    def _side_blocks(self, lines: int) -> list[list[Text]]:
        """Make the blocks for matches, news and agents in trouble; together at most so many lines."""
        trouble = _make_block("In trouble", self._trouble_lines(), max(lines // 4, 2))
        models = _make_block("Language models", self._model_lines(), max(lines // 4, 2))
        rest = lines - len(trouble) - len(models)
        matches, news = self._match_lines(), self._feed_lines()
        for_news = max(rest - len(matches) - 1, rest // 2)
        for_matches = rest - min(len(news) + 1, for_news)
        round_ = _make_block(self._round_title(), matches, for_matches)
        return [block for block in (round_, _make_block("News", news, for_news), models, trouble) if block]

    def _model_lines(self) -> list[Text]:
        return [
            Text(
                f"{player_id} {used.model}: {used.tokens:,} tokens, {used.cost_text}, "
                f"{used.illegal_answers} illegal, {used.late_answers} late",
                no_wrap=True,
                overflow="ellipsis",
            )
            for player_id, used in self.read_model_usage().items()
        ]

    def _round_title(self) -> str:
        round_ = self._section("round")
        states = [match.get("state") for match in _read_rows(round_, "matches")]
        done, busy = states.count("finished"), states.count("playing")
        title = f", {_read_text(round_, 'title')}" if _read_text(round_, "title") else ""
        return f"Round {_read_number(round_, 'round_id')}{title}: {done} of {len(states)} finished, {busy} being played"

    def _match_lines(self) -> list[Text]:
        """Render the round's matches: running ones first, then finished, then waiting ones."""
        order = {"playing": 0, "finished": 1}
        matches = _read_rows(self._section("round"), "matches")
        return [
            _render_match(match) for match in sorted(matches, key=lambda match: order.get(str(match.get("state")), 2))
        ]

    def _feed_lines(self) -> list[Text]:
        return [
            Text.assemble(
                (f"{_read_text(item, 'at')[11:19]} ", "dim"),
                (_news_sentence(item), NEWS_STYLES.get(_read_text(item, "kind"), "")),
            )
            for item in _read_rows(self._section("feed"), "items")
        ]

    def _trouble_lines(self) -> list[Text]:
        found = []
        for row in _read_rows(self._section("agents"), "rows"):
            state, failures = _read_text(row, "state"), _read_number(row, "failures")
            barred = row.get("is_barred") is True
            if state in TROUBLED_STATES or failures or barred:
                what = _read_text(row, "state_words") or state.lower()
                failed = f", {failures} failures in a row" if failures else ""
                name = f"{_read_text(row, 'agent_id')} {_read_text(row, 'display_name')}"
                found.append(Text(f"{name}: {what}{failed}", style="yellow"))
        return found

    def _format_new_items(self, update: FeedChange) -> list[str]:
        """Format the new feed items of an update, oldest first, after a line that counts skipped ones."""
        items = [item for item in _read_rows(update.sections.get("feed", {}), "items") if _read_number(item, "number")]
        new = sorted((item for item in items if _read_number(item, "number") > self._latest_number), key=_news_number)
        if not new:
            return []
        missed = _news_number(new[0]) - self._latest_number - 1 if self._latest_number else 0
        self._latest_number = _news_number(new[-1])
        lines = [f"{_read_text(item, 'at')[:19].replace('T', ' ')} {_news_sentence(item)}".strip() for item in new]
        return [*([f"(and {missed} more in between)"] if missed > 0 else []), *lines]

    def _section(self, name: str) -> FeedSection:
        return self._sections.get(name, {})


def _make_block(title: str, lines: Sequence[Text], most: int) -> list[Text]:
    """Make a block of a title and as many lines as there is room for; empty without lines."""
    return [Text(title, style="bold underline"), *lines[: most - 1]] if lines and most > 1 else []


def _cut_lines(lines: list[Text], most: int) -> list[Text]:
    """Keep as many lines as there is room for, and say how many are left out."""
    if len(lines) < most:
        return lines
    shown = lines[: max(most - 2, 1)]
    return [*shown, Text(f"and {len(lines) - len(shown)} more lines", style="dim")]


def _render_groups(groups: Sequence[FeedSection], lines: int) -> RenderableType:
    """Render the tables of groups below each other; who would go on is marked."""
    table = Table(box=None, padding=(0, 1), expand=True, header_style="bold")
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("Player", no_wrap=True)
    table.add_column("Name", ratio=1, no_wrap=True, overflow="ellipsis")
    for heading in ("Pld", "W", "D", "L", "Pts"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    rows: list[Sequence[RenderableType]] = []
    for group in groups:
        rows.append(("", "", Text(f"Group {_read_text(group, 'name')}", style="bold underline")))
        goes_on = Text("goes on" if group.get("is_over") is True else "would go on", style="green")
        for row in _read_rows(group, "rows"):
            numbers = [str(_read_number(row, name)) for name in ("played", "wins", "draws", "losses", "points")]
            named = [Text(_read_text(row, name)) for name in ("player_id", "display_name")]
            mark = goes_on if row.get("is_advancing") is True else Text("")
            rows.append((str(_read_number(row, "place")), *named, *numbers, mark))
    shown = rows if len(rows) < lines else rows[: max(lines - 2, 1)]
    for cells in shown:
        table.add_row(*cells)
    if len(shown) < len(rows):
        table.add_row("", "", Text(f"and {len(rows) - len(shown)} more lines", style="dim"))
    return table


def _render_series(box: FeedSection) -> Text:
    """Render a series of a bracket with the wins of both players."""
    line = Text("  ")
    slots = _read_rows(box, "slots")[:2]
    for place, slot in enumerate(slots):
        name = _read_text(slot, "name") or _read_text(slot, "label")
        line.append(" - " if place else "").append(name, "bold green" if slot.get("has_advanced") is True else "")
        line.append(f" {_read_number(slot, 'wins')}" if box.get("match_ids") else "", "dim")
    if _read_text(box, "state") == "playing":
        return line.append("  being played", "cyan")
    return line.append(f"  {_read_text(box, 'note')}".rstrip(), "yellow")


def _stack_blocks(blocks: Sequence[Sequence[Text]]) -> RenderableType:
    lines = [line for block in blocks for line in block]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def _render_match(match: FeedSection) -> Text:
    players = _read_rows(match, "players")
    first, second = (*(_read_text(player, "display_name") for player in players), "", "")[:2]
    state, winner = _read_text(match, "state"), match.get("winner")
    ids = [player.get("player_id") for player in players]
    line = Text(f"{_read_text(match, 'match_id')}  ")
    for name, player_id in zip((first, second), (*ids, None, None), strict=False):
        line.append(name, "bold green" if winner and player_id == winner else "")
        if name is first:
            line.append(" - ")
    if state == "playing":
        return line.append(f"  {_read_text(match, 'referee_id')}", "cyan")
    if state != "finished":
        line.stylize("dim")
        return line
    if match.get("outcome") == "DRAW":
        line.append("  draw", "yellow")
    return line.append(f"  {_read_text(match, 'note')}".rstrip(), "yellow")


def _render_rank_change(row: FeedSection) -> Text:
    moved = _read_number(row, "moved")
    if not moved:
        return Text("")
    return Text(f"▲{moved}", "green") if moved > 0 else Text(f"▼{-moved}", "red")


def _render_form(row: FeedSection) -> Text:
    letters = [_read_text(item, "letter") for item in _read_rows(row, "form")]
    return Text(" ").join(Text(letter, FORM_STYLES.get(letter[:1], "")) for letter in letters)


def _news_sentence(item: FeedSection) -> str:
    return f"{_read_text(item, 'label')} {_read_text(item, 'text')}".strip()


def _news_number(item: FeedSection) -> int:
    return _read_number(item, "number")


def _read_text(part: FeedSection, name: str) -> str:
    value = part.get(name)
    return to_printable(value, MAX_SENTENCE) if isinstance(value, str) else ""


def _read_tiebreaks(row: FeedSection) -> dict[str, float | None]:
    """Read the values of tiebreakers; None where one doesn't apply."""
    found = row.get("tiebreaks")
    told: FeedSection = found if isinstance(found, dict) else {}
    return {name: None if told[name] is None else _read_number(told, name) for name in TIEBREAKERS if name in told}


def _read_number(part: FeedSection, name: str) -> int:
    value = part.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(max(-MAX_NUMBER, min(value, MAX_NUMBER)))


def _read_rows(part: FeedSection, name: str) -> list[FeedSection]:
    value = part.get(name)
    return [item for item in value[:MAX_ROWS] if isinstance(item, dict)] if isinstance(value, list) else []
