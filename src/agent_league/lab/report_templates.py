"""Rendering the templates of reports: what isn't ours is made printable, and escaped for HTML or Markdown."""

from typing import Any

from jinja2 import Environment, StrictUndefined, pass_eval_context, select_autoescape
from jinja2.nodes import EvalContext

from agent_league.model.tables import escape_markdown
from agent_league.text import to_printable
from agent_league.web.rendering import mark_code
from agent_league.web.report_style import load_report_style, make_report_loader


def make_environment() -> Environment:
    """Make the environment of all reports."""
    made = Environment(
        loader=make_report_loader("agent_league.lab"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        finalize=_make_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["report_style"] = load_report_style()
    made.filters["coded"] = mark_code
    return made


def render_template(template: str, **values: Any) -> str:
    """Render a template of this package."""
    return make_environment().get_template(template).render(**values)


@pass_eval_context
def _make_safe(context: EvalContext, value: Any) -> Any:
    """Make a value's text printable, and escape it for Markdown (HTML is escaped anyway); `|safe` exempts it."""
    if type(value) is not str:
        return value
    return to_printable(value) if context.autoescape else escape_markdown(value)
