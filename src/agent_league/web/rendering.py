"""Renders templates: links for the live site or for exported files, static assets, and escaping of all values.

Templates get every link from a `Site`. Hidden characters in agents' text are shown by their codes. An asset URL with
the asset's own etag can be cached forever.
"""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from agent_league.clock import format_duration
from agent_league.games.registry import find_game_title
from agent_league.games.view import format_amount, format_signed_amount
from agent_league.model.looks import NO_LOOK
from agent_league.model.result_words import format_count
from agent_league.model.tables import SHORT_HEADINGS, format_tiebreak
from agent_league.text import to_printable
from agent_league.version import __version__
from agent_league.web.avatars import draw_avatar, find_hue
from agent_league.web.page_cache import ServedContent, encode_content

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context
    from markupsafe import Markup


class Site(Protocol):
    """Turns a page's path, such as `matches/R1M1`, into a link; the overview is the empty path."""

    @property
    def is_live(self) -> bool: ...
    @property
    def origin(self) -> str: ...
    def to(self, path: str) -> str: ...
    def asset(self, name: str) -> str: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LiveSite:
    """Links of pages that the manager serves."""

    base: str = ""
    """The path below which all pages are, such as `/leagues/spring`; empty: the server's root."""
    index: str = ""
    """The address of the index of all leagues on the server; empty: there is only one."""
    note: str = ""
    """Notice at the top of every page of a site that isn't live."""
    is_live: bool = True
    """False for pages of a season of the archive, which nothing changes any more."""
    origin: str = ""
    """Scheme and host at which others reach the pages, for what they show of a shared link; empty: not known."""

    def to(self, path: str) -> str:
        return f"{self.base}/{quote(path)}"

    def asset(self, name: str) -> str:
        return f"{self.base}/static/{name}?{load_assets()[name].etag}"


@dataclass(frozen=True, slots=True)
class FileSite:
    """Relative links between exported files, from a file that is `depth` folders deep."""

    depth: int = 0
    note: str = ""
    """Notice at the top of every page if the league isn't over."""
    index: str = ""
    is_live: bool = False
    origin: str = ""

    def to(self, path: str) -> str:
        return f"{'../' * self.depth}{quote(page_file(path))}"

    def asset(self, name: str) -> str:
        return f"{'../' * self.depth}static/{name}"


def page_file(path: str) -> str:
    """Return the file name of a page in an exported site."""
    return f"{path or 'index'}.html"


@cache
def load_assets() -> Mapping[str, ServedContent]:
    """Load all styles, scripts and images, by file name."""
    folder = files("agent_league.web") / "static"
    return {file.name: encode_content(file.read_bytes()) for file in folder.iterdir() if file.is_file()}


def guess_media_type(name: str) -> str:
    """Return the content type of an asset by its file name."""
    if name.endswith(".js"):
        return "text/javascript; charset=utf-8"
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+"
RIGHT_TO_LEFT = re.compile(f"{_RIGHT_TO_LEFT}(?: +{_RIGHT_TO_LEFT})*")
"""Runs of words in a right-to-left script."""


CODE = re.compile(r"`([^`\n]+)`")


def render(template: str, site: Site, told: Mapping[str, Any]) -> str:
    """Render a template, of a page or of a part of one."""
    return _build_environment().get_template(template).render(site=site, **told)


@cache
def _build_environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context  # noqa: PLC0415 - not needed until a page is requested

    made = Environment(
        loader=PackageLoader("agent_league.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show_hidden_characters,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = __version__
    made.globals["avatar"] = pass_context(draw_shown_avatar)
    made.globals["hue"] = find_hue
    made.filters["game_title"] = find_game_title
    made.filters["amount"] = format_amount
    made.filters["signed_amount"] = format_signed_amount
    made.filters["counted"] = format_count
    made.filters["tiebreak"] = format_tiebreak
    made.filters["short_heading"] = lambda title: SHORT_HEADINGS.get(title, title)
    made.filters["duration"] = format_duration
    made.filters["moment"] = mark_moment
    made.filters["coded"] = mark_code
    made.filters["isolated"] = isolate_right_to_left
    made.filters["ms"] = lambda milliseconds: format_duration(milliseconds / 1000)
    return made


def draw_shown_avatar(context: "Context", name: str) -> "Markup":
    """Draw the avatar of the player of this name, with the look that the page's `looks` have for it."""
    return draw_avatar(name, context.get("looks", {}).get(name, NO_LOOK))


def show_hidden_characters(value: Any) -> Any:
    """Replace characters that hide or reorder text by their codes; keeps newlines and tabs, and leaves Markup alone."""
    if type(value) is not str or value.replace("\n", "").replace("\t", "").isprintable():
        return value
    return "\n".join("\t".join(map(to_printable, line.split("\t"))) for line in value.split("\n"))


def mark_moment(moment: str) -> "Markup":
    """Mark a time of a message as such, in UTC: a script shows it by the reader's own clock, with its zone."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    return Markup('<time datetime="{0}" data-moment>{1} UTC</time>').format(
        moment, moment.replace("T", " ").rstrip("Z")
    )


def mark_code(sentence: str) -> "Markup":
    """Escape a sentence for HTML; what stands between backticks in it is marked as code, as in Markdown."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with the templates

    return Markup(CODE.sub(r"<code>\1</code>", str(escape(show_hidden_characters(sentence)))))  # noqa: S704 - escaped, and our own tag


def isolate_right_to_left(sentence: str) -> "Markup":
    """Wrap right-to-left names in `<bdi>`, so that they don't reorder the numbers beside them."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with the templates

    return Markup(RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(show_hidden_characters(sentence)))))  # noqa: S704 - escaped, and our own tag
