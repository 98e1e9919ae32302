"""The pages, one module each; a new page needs a line here and a template."""

from agent_league.web.page import Page
from agent_league.web.pages.cross_table import CROSS_TABLE
from agent_league.web.pages.game import GAME
from agent_league.web.pages.match import MATCH
from agent_league.web.pages.overview import OVERVIEW
from agent_league.web.pages.play import PLAY
from agent_league.web.pages.player import PLAYER
from agent_league.web.pages.players import PLAYERS
from agent_league.web.pages.protocol import MESSAGE, PROTOCOL
from agent_league.web.pages.referees import REFEREES
from agent_league.web.pages.schedule import ROUND, SCHEDULE

PAGES: tuple[Page, ...] = (
    OVERVIEW,
    CROSS_TABLE,
    SCHEDULE,
    ROUND,
    MATCH,
    PLAYERS,
    PLAYER,
    REFEREES,
    GAME,
    PLAY,
    PROTOCOL,
    MESSAGE,
)
