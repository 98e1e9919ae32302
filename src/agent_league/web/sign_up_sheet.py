"""The sheet with the sign-up addresses of a class: a page to print and cut, and a table to mail from."""

from collections.abc import Sequence

from agent_league.http.sign_up_address import add_sign_up_key
from agent_league.league.class_roster import IssuedKey
from agent_league.model.tables import DataTable
from agent_league.web.rendering import FileSite, render

SHEET_COLUMNS = ("student_id", "name", "email", "team", "team_id", "sign_up_url", "page")


def render_sheet(issued: Sequence[IssuedKey], league_id: str, address: str) -> str:
    """Render the page: one card a team, with its address and how to use it."""
    teams = [
        {
            "team_id": one.team.team_id,
            "name": one.team.name,
            "students": one.team.students,
            **_list_addresses(address, one.key),
        }
        for one in issued
    ]
    return render("sheet.html", FileSite(), {"league_id": league_id, "teams": teams})


def format_sheet_csv(issued: Sequence[IssuedKey], address: str) -> str:
    """Format the table: one row a student."""
    rows = []
    for one in issued:
        places = _list_addresses(address, one.key)
        for student in one.team.students:
            person = (student["student_id"], student["name"], student["email"])
            rows.append((*person, one.team.name, one.team.team_id, places["sign_up_url"], places["page"]))
    return DataTable(SHEET_COLUMNS, rows).to_csv()


def _list_addresses(address: str, key: str) -> dict[str, str]:
    sign_up = add_sign_up_key(address, key)
    return {"sign_up_url": sign_up, "page": sign_up.removesuffix("/mcp")}
