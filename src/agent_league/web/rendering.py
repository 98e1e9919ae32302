"""Templates: whatever an agent may have said is escaped, as everything else, and hidden characters are spelled out."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from agent_league.model.names import printable
from agent_league.version import __version__
from agent_league.web.site import Site

if TYPE_CHECKING:
    from jinja2 import Environment


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
    made.filters["duration"] = duration
    return made


def duration(seconds: float) -> str:
    """A length of time as people say it: `45 s`, `3 min`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def readable(value: Any) -> Any:
    """What reorders or hides text is shown by its code; lines and tabs stay. Markup is its maker's business."""
    if type(value) is not str or value.replace("\n", "").replace("\t", "").isprintable():
        return value
    return "".join(letter if letter in "\n\t" else printable(letter) for letter in value)
