"""The pages, one module each; a new page needs a line here and a template."""

from agent_league.web.page import Page
from agent_league.web.pages.cross_table import CROSS_TABLE_PAGE
from agent_league.web.pages.game import GAME_PAGE
from agent_league.web.pages.match import MATCH_PAGE
from agent_league.web.pages.overview import OVERVIEW_PAGE
from agent_league.web.pages.play import PLAY_PAGE
from agent_league.web.pages.player import PLAYER_PAGE
from agent_league.web.pages.players import PLAYERS_PAGE
from agent_league.web.pages.protocol import MESSAGE_PAGE, PROTOCOL_PAGE
from agent_league.web.pages.referees import REFEREES_PAGE
from agent_league.web.pages.schedule import ROUND_PAGE, SCHEDULE_PAGE

PAGES: tuple[Page, ...] = (
    OVERVIEW_PAGE,
    CROSS_TABLE_PAGE,
    SCHEDULE_PAGE,
    ROUND_PAGE,
    MATCH_PAGE,
    PLAYERS_PAGE,
    PLAYER_PAGE,
    REFEREES_PAGE,
    GAME_PAGE,
    PLAY_PAGE,
    PROTOCOL_PAGE,
    MESSAGE_PAGE,
)
