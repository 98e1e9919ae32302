"""The look of the reports that commands write as HTML: the frame and the style of the pages, in one file each.

Knows nothing of what a report says: `check` and `lab` have templates of their own, which extend `report_frame.html`.
"""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import BaseLoader
    from markupsafe import Markup

STYLE_FILES = ("base.css", "report.css")


def make_report_loader(package: str) -> "BaseLoader":
    """Make the loader of a package's own templates, beside which the frame is found."""
    from jinja2 import ChoiceLoader, PackageLoader  # noqa: PLC0415 - not needed until a report is written

    return ChoiceLoader([PackageLoader(package), PackageLoader("agent_league.web")])


@cache
def load_report_style() -> "Markup":
    """Load the style of reports, for the template's `report_style`."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    folder = files("agent_league.web") / "static"
    return Markup("\n".join((folder / name).read_text("utf-8") for name in STYLE_FILES))  # noqa: S704 - our own files
