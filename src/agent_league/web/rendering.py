"""Renders templates. All values are escaped, and hidden characters in agents' text are shown by their codes."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from agent_league.clock import duration
from agent_league.model.names import printable
from agent_league.model.result_words import counted
from agent_league.version import __version__
from agent_league.web.site import Site

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_LEFTWARD = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+"
LEFTWARD = re.compile(f"{_LEFTWARD}(?: +{_LEFTWARD})*")
"""Runs of words in a right-to-left script."""


def render(template: str, site: Site, told: Mapping[str, Any]) -> str:
    """Render a template, of a page or of a part of one."""
    return _environment().get_template(template).render(site=site, **told)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - not needed until a page is requested

    made = Environment(
        loader=PackageLoader("agent_league.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=readable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = __version__
    made.filters["counted"] = counted
    made.filters["duration"] = duration
    made.filters["isolated"] = isolated
    made.filters["ms"] = lambda milliseconds: duration(milliseconds / 1000)
    return made


def readable(value: Any) -> Any:
    """Replace characters that hide or reorder text by their codes; keeps newlines and tabs, and leaves Markup alone."""
    if type(value) is not str or value.replace("\n", "").replace("\t", "").isprintable():
        return value
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in value.split("\n"))


def isolated(sentence: str) -> "Markup":
    """Wrap right-to-left names in `<bdi>`, so that they don't reorder the numbers beside them."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with the templates

    return Markup(LEFTWARD.sub(r"<bdi>\g<0></bdi>", str(escape(readable(sentence)))))  # noqa: S704 - escaped, and our own tag
