"""The pages, one module each; a new one is a line here and a template."""

from agent_league.web.page import Page
from agent_league.web.pages.overview import OVERVIEW

PAGES: tuple[Page, ...] = (OVERVIEW,)
