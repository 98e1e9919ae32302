"""The page with the organisers' commands that were carried out; only reads the audit log."""

from agent_league.model.audit import AuditEntry, describe_action
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData


def read_audit_data(reader: LeagueReader, _: str) -> PageData:
    return {
        "entries": [build_audit_line(reader, entry) for entry in reversed(reader.state.audit_log)],
        "names": reader.player_names,
    }


def build_audit_line(reader: LeagueReader, entry: AuditEntry) -> dict[str, str]:
    """An entry as pages show it; `match_id` or `player_id` is set if its target has a page."""
    target = entry.target
    return {
        **{name: getattr(entry, name) for name in ("at", "who", "target", "reason", "change")},
        "number": str(entry.number),
        "action": describe_action(entry.action),
        "player_id": target if target in reader.state.roster.players() else "",
        "match_id": target if reader.state.has_match(target) else "",
    }


def has_audit_entries(reader: LeagueReader) -> bool:
    return bool(reader.state.audit_log)


AUDIT_PAGE = Page(
    "audit", "audit.html", read_audit_data, title="Audit log", section="For organisers", is_offered=has_audit_entries
)
