"""The pictures of the documentation, taken anew: pages of a real league in Chromium, and a recording of a terminal.

    python -m tools.screens

draws the picture of shared links, `web/static/card.png`, of the name mark and faces, plays `league demo` in a terminal
of its own, looks at its pages while and after it is played, and writes `overview.png`, `match.png` and `bracket.png` to
`docs`, and the recording as `docs/demo.svg` and, in the form of asciinema, `build/demo.cast`.
"""

import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from itertools import groupby
from pathlib import Path
from urllib.request import urlopen

import pyte
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from agent_league import web
from agent_league.web.avatars import draw_avatar
from agent_league.web.report_style import load_report_style

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COLUMNS, ROWS = 100, 34
PORT = 18700
VIEW: ViewportSize = {"width": 1120, "height": 860}
FRAME_SECONDS = 0.5
"""Changes on the screen that follow each other faster are one frame of the picture."""
LAST_FRAME_SECONDS = 4
INK, PAPER = "#e7ebf1", "#10141b"
COLOURS = {
    "default": INK,
    "black": "#3a4454",
    "red": "#ff9a9f",
    "green": "#6fd79c",
    "brown": "#e3cd6a",
    "blue": "#7fb0ff",
    "magenta": "#d6a5ff",
    "cyan": "#7fd7e0",
    "white": INK,
}
CELL_WIDTH, LINE_HEIGHT = 8.4, 18
CARD_NAMES = (
    *("Ada Minimax", "Bolt", "Curious George", "Deep Thought", "Echo", "HAL"),
    *("Kestrel", "Jabberwock", "Gambit", "Player 9", "Player 21", "Player 30"),
)
CARD_STYLE = """
.shared { position: fixed; inset: 0; max-width: none; padding: 92px 80px 0; background: #231f5c; color: #fff; }
.shared { --paper: #1e1b4b; }
.shared .brand-mark { width: 150px; height: 130px; color: #fff; }
.shared h1 { font-size: 104px; font-weight: 800; letter-spacing: -0.04em; margin: 8px 0 0; }
.shared p { font-size: 35px; color: #cfccff; margin: 20px 4px 0; }
.shared div { position: absolute; bottom: 64px; display: flex; gap: 20px; }
.shared .avatar { width: 70px; height: 70px; margin: 0; background: #ffffff14; }
"""
NO_BREAK = "\u00a0"
"""A blank that SVG keeps."""
Output = list[tuple[float, str]]


@contextmanager
def open_terminal(command: list[str], folder: Path) -> Iterator[Output]:
    """Run a command in a terminal of its own; yields what it prints, with the second, until it is left."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.set_blocking(terminal, False)
    output = TerminalOutput(terminal)
    try:
        yield output
        output.read_for(0.5)
    finally:
        os.kill(pid, signal.SIGINT)
        os.waitpid(pid, 0)
        os.close(terminal)


class TerminalOutput(Output):
    """What was printed so far, each piece with its second."""

    def __init__(self, terminal: int) -> None:
        super().__init__()
        self._terminal = terminal
        self._began = time.monotonic()

    def read_for(self, seconds: float) -> None:
        """Read for a while; the terminal has to be read, or the command waits for it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                text = os.read(self._terminal, 65536).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # the command has ended
                return
            else:
                self.append((time.monotonic() - self._began, text))


def write_cast(output: Output, file: Path) -> None:
    """Write a recording in the form of asciinema, version 2."""
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "league demo"}
    lines = [head, *([round(at, 3), "o", text] for at, text in output)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def read_frames(cast: Path) -> list[tuple[float, list[str]]]:
    """Play a recording on an emulated terminal: the second of each frame after the first line, and its lines as SVG."""
    _, *events = map(json.loads, cast.read_text(encoding="utf-8").splitlines())
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    frames: list[tuple[float, list[str]]] = []
    for number, events_of_frame in groupby(events, key=lambda event: int(event[0] / FRAME_SECONDS)):
        for _, _, text in events_of_frame:
            stream.feed(text)
        lines = [_draw_line(screen, row) for row in range(ROWS)]
        if frames[-1][1] != lines if frames else any(lines):
            frames.append((number * FRAME_SECONDS, lines))
    return [(at - frames[0][0], lines) for at, lines in frames]


def _draw_line(screen: pyte.Screen, row: int) -> str:
    """Draw a line as runs of one colour, each at its column."""
    cells = [screen.buffer[row][column] for column in range(COLUMNS)]
    runs = groupby(enumerate(cells), key=lambda cell: (_colour(cell[1].fg), cell[1].bold))
    drawn = []
    for (colour, is_bold), run in runs:
        part = list(run)
        text = "".join(cell.data for _, cell in part)
        word = text.strip()
        if word:
            x = (part[0][0] + len(text) - len(text.lstrip())) * CELL_WIDTH
            look = f'x="{x:g}" textLength="{len(word) * CELL_WIDTH:g}" fill="{colour}"' + ' font-weight="700"' * is_bold
            drawn.append(f"<tspan {look}>{escape(word.replace(' ', NO_BREAK))}</tspan>")
    return "".join(drawn)


def _colour(name: str) -> str:
    plain = name.removeprefix("bright")
    return COLOURS.get(plain, f"#{name}" if len(name) == 6 else INK)


def draw_recording(frames: Iterable[tuple[float, list[str]]]) -> str:
    """Draw frames as one SVG that shows them one after the other, without script; lines that stay are drawn once."""
    shown = list(frames)
    total = shown[-1][0] + LAST_FRAME_SECONDS
    ends = [at for at, _ in shown[1:]] + [total]
    spans: list[tuple[int, str, float, float]] = []
    open_spans: dict[int, tuple[str, float]] = {}
    for (at, lines), end in zip(shown, ends, strict=True):
        for row, line in enumerate(lines):
            text, since = open_spans.get(row, ("", at))
            if text != line:
                if text:
                    spans.append((row, text, since, at))
                open_spans[row] = (line, at)
        if end == total:
            spans += [(row, text, since, total) for row, (text, since) in open_spans.items() if text]
    width, height = COLUMNS * CELL_WIDTH + 24, ROWS * LINE_HEIGHT + 24
    drawn = "\n".join(_draw_span(*span, total) for span in spans)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="A recording of league demo in a terminal">\n'
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{PAPER}"/>\n'
        f'<g transform="translate(12 12)" font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" '
        f'font-size="14">\n{drawn}\n</g>\n</svg>\n'
    )


def _draw_span(row: int, text: str, since: float, until: float, total: float) -> str:
    """Draw a line that is there from one second to another, again in every round of the recording.

    Where nothing moves, as on paper, the lines of the last frame are seen.
    """
    y = (row + 1) * LINE_HEIGHT - 4
    if since == 0 and until == total:
        return f'<text y="{y}">{text}</text>'
    times = [(0.0, 1 if since == 0 else 0), (since / total, 1), (until / total, 0 if until < total else 1)]
    times = [one for at, one in enumerate(times) if one not in times[:at]]
    keys, values = ";".join(f"{at:.4g}" for at, _ in times), ";".join(str(value) for _, value in times)
    return (
        f'<text y="{y}" opacity="{int(until == total)}">{text}'
        f'<animate attributeName="opacity" dur="{total:g}s" repeatCount="indefinite" '
        f'calcMode="discrete" keyTimes="{keys}" values="{values}"/></text>'
    )


def draw_card(browser: Browser, file: Path) -> None:
    """Draw the picture that shared links show: the name mark, the name, and the faces of some players."""
    styles = load_report_style() + CARD_STYLE
    mark = (Path(web.__file__).parent / "templates" / "_mark.svg").read_text(encoding="utf-8")
    faces = "".join(map(draw_avatar, CARD_NAMES))
    page = browser.new_page(viewport={"width": 1200, "height": 630}, color_scheme="dark")
    words = "<h1>Agent League</h1><p>Agents by anybody, in any language, at one table</p>"
    page.set_content(f'<style>{styles}</style><main class="shared">{mark}{words}<div>{faces}</div></main>')
    page.screenshot(path=file)
    page.close()
    _shrink(file)


def _wait_for(output: TerminalOutput, address: str, phase: str) -> None:
    for _ in range(400):
        output.read_for(0.25)
        try:
            with urlopen(f"{address}/standings.json", timeout=2) as answer:
                if json.load(answer)["league"]["phase"] == phase:
                    return
        except (OSError, KeyError):
            continue
    raise SystemExit(f"the league at {address} never was {phase}")


def _take(page: Page, output: TerminalOutput, address: str, file: Path) -> None:
    page.goto(address)
    output.read_for(0.7)
    page.screenshot(path=file)
    _shrink(file)


def _shrink(file: Path) -> None:
    if shutil.which("convert"):  # half the bytes, and nothing that is seen
        subprocess.run(["convert", str(file), "+dither", "-colors", "192", str(file)], check=True)


def main() -> int:
    address = f"http://localhost:{PORT}"
    command = [str(Path(sys.executable).with_name("league")), "demo", "--stay", "--port", str(PORT)]
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        draw_card(browser, Path(web.__file__).parent / "static" / "card.png")
        page = browser.new_page(viewport=VIEW, color_scheme="light", reduced_motion="reduce")
        with open_terminal(command, Path(folder)) as output:
            assert isinstance(output, TerminalOutput)
            _wait_for(output, address, "RUNNING")
            output.read_for(4)
            _take(page, output, f"{address}/", DOCS / "overview.png")
            _wait_for(output, address, "COMPLETED")
            _take(page, output, f"{address}/matches/R3M1", DOCS / "match.png")
            _take(page, output, f"{address}/bracket", DOCS / "bracket.png")
        browser.close()
    cast = ROOT / "build" / "demo.cast"
    cast.parent.mkdir(exist_ok=True)
    write_cast(output, cast)
    (DOCS / "demo.svg").write_text(draw_recording(read_frames(cast)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
