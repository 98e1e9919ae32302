"""One match file as one HTML file that loads nothing: who met whom, how it ended, and the game step by step.

Knows no league: a match file and the names of its players are all it takes.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from agent_league.referee.match import SEAT_ROLES
from agent_league.text import MAX_SENTENCE, capitalise, shorten
from agent_league.web.pages.match import replay_game
from agent_league.web.rendering import FileSite, render
from agent_league.web.report_style import load_report_style

STYLES = ("scene.css", "match.css")


def render_match_report(content: Mapping[str, Any], names: Sequence[str], ending: str) -> str:
    """Render a match file's content; `names` are the players' by seat, `ending` says how it ended."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    script = _read_asset("match.js")
    players = content.get("players")
    ids = [str((players if isinstance(players, Mapping) else {}).get(role)) for role in SEAT_ROLES]
    return render(
        "match_report.html",
        FileSite(),
        {
            **replay_game(content, ids, names),
            "ending": capitalise(shorten(ending, MAX_SENTENCE)).rstrip("."),
            "report_style": load_report_style() + Markup("".join(map(_read_asset, STYLES))),  # noqa: S704 - our own files
            "script": Markup(script),  # noqa: S704 - our own file
            "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
        },
    )


def _read_asset(name: str) -> str:
    return (files("agent_league.web") / "static" / name).read_text("utf-8")
