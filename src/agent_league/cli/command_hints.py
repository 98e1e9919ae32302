"""Which command is meant by a word that is none, and that no likeness of letters leads to.

Knows words alone. What `league show` shows and `league admin` does are meant by their own words.
"""

from collections.abc import Mapping

MEANT_COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(("table", "leaderboard", "ranking", "rankings", "score", "scores", "results"), "show standings"),
    **dict.fromkeys(("rounds", "pairings", "fixtures", "matches"), "show schedule"),
    **dict.fromkeys(("register", "bot", "agent"), "player"),
    **dict.fromkeys(("status", "ps", "list", "ls"), "leagues"),
    **dict.fromkeys(("web", "site", "up", "server"), "serve"),
    **dict.fromkeys(("live", "follow", "view"), "watch"),
    **dict.fromkeys(("tournament", "cup", "quickstart"), "run"),
    **dict.fromkeys(("create", "scaffold", "starter"), "new"),
    "season": "new season",
    "rate": "ratings",
    "settings": "config show",
    "validate": "check",
}
"""What people who know other tools type, and what it is called here."""


def find_meant_command(word: str) -> str | None:
    """Return the command that is meant by a word that is no command, without `league`; None if nothing is known."""
    from agent_league.cli.admin import AdminAction
    from agent_league.cli.show import ShowSubject

    for command, words in (("show", ShowSubject), ("admin", AdminAction)):
        if word in list(words):
            return f"{command} {word}"
    return MEANT_COMMANDS.get(word)
