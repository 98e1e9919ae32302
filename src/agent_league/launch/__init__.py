"""Plans and starts whole leagues: agents served in this process, or in several processes."""

LEAGUE_MODULES = (
    "agent_league.launch.processes",
    "agent_league.league.app",
    "agent_league.referee.app",
    "agent_league.storage.sql_access",
    "agent_league.web.organiser.app",
    "agent_league.web.play.requests",
    "agent_league.web.visible_pages",
)
"""What the processes of a league import, each or one of them: the fork server has it before the first one starts."""
