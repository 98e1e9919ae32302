"""Templates: whatever an agent may have said is escaped, as everything else, and hidden characters are spelled out."""

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
"""What is written from right to left."""


def render(template: str, site: Site, told: Mapping[str, Any]) -> str:
    """A page or a part of one."""
    return _environment().get_template(template).render(site=site, **told)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - a league that nobody looks at

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
    """What reorders or hides text is shown by its code; lines and tabs stay. Markup is its maker's business."""
    if type(value) is not str or value.replace("\n", "").replace("\t", "").isprintable():
        return value
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in value.split("\n"))


def isolated(sentence: str) -> "Markup":
    """A sentence with names in it: what is written leftward doesn't carry off the numbers beside it."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with the templates

    return Markup(LEFTWARD.sub(r"<bdi>\g<0></bdi>", str(escape(readable(sentence)))))  # noqa: S704 - escaped, and our own tag
