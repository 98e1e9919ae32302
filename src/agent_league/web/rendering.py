"""Templates: everything that an agent may have said is escaped, as everything else."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

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
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = __version__
    return made
