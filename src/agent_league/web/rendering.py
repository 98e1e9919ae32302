"""Renders templates. All values are escaped, and hidden characters in agents' text are shown by their codes."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from agent_league.clock import format_duration
from agent_league.model.result_words import format_count
from agent_league.text import to_printable
from agent_league.version import __version__
from agent_league.web.site import Site

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+"
RIGHT_TO_LEFT = re.compile(f"{_RIGHT_TO_LEFT}(?: +{_RIGHT_TO_LEFT})*")
"""Runs of words in a right-to-left script."""


def render(template: str, site: Site, told: Mapping[str, Any]) -> str:
    """Render a template, of a page or of a part of one."""
    return _build_environment().get_template(template).render(site=site, **told)


@cache
def _build_environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - not needed until a page is requested

    made = Environment(
        loader=PackageLoader("agent_league.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show_hidden_characters,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = __version__
    made.filters["counted"] = format_count
    made.filters["duration"] = format_duration
    made.filters["isolated"] = isolate_right_to_left
    made.filters["ms"] = lambda milliseconds: format_duration(milliseconds / 1000)
    return made


def show_hidden_characters(value: Any) -> Any:
    """Replace characters that hide or reorder text by their codes; keeps newlines and tabs, and leaves Markup alone."""
    if type(value) is not str or value.replace("\n", "").replace("\t", "").isprintable():
        return value
    return "\n".join("\t".join(map(to_printable, line.split("\t"))) for line in value.split("\n"))


def isolate_right_to_left(sentence: str) -> "Markup":
    """Wrap right-to-left names in `<bdi>`, so that they don't reorder the numbers beside them."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with the templates

    return Markup(RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(show_hidden_characters(sentence)))))  # noqa: S704 - escaped, and our own tag
