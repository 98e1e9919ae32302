"""Forms that a browser posts: small, from our own pages alone. Raises RequestRejected for all others."""

from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from agent_league.http.carrier import RequestRejected
from agent_league.http.header_check import HeaderCheck, HeaderFields

FORM_TYPE = b"application/x-www-form-urlencoded"
MAX_FORM_BYTES = 16 * 1024
MAX_FIELDS = 20
ALLOWED_FETCH_SITES = (b"same-origin", b"none")
"""Allowed values of `Sec-Fetch-Site`: from our own pages, or not from any page."""
FOREIGN_PAGE = "only a page of this very server may do that"


async def read_form(request: Request, header_check: HeaderCheck) -> dict[str, str]:
    """Read the fields of a posted form; raises RequestRejected if another site's page may have posted it."""
    fields: HeaderFields = dict(request.scope["headers"])
    header_check.check_origin(fields)
    if fields.get(b"sec-fetch-site", b"none") not in ALLOWED_FETCH_SITES:
        raise RequestRejected(403, FOREIGN_PAGE)
    if fields.get(b"content-type", FORM_TYPE).partition(b";")[0].strip().lower() != FORM_TYPE:
        raise RequestRejected(415, f"expected a form ({FORM_TYPE.decode()})")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM_BYTES:
                raise RequestRejected(413, f"the form is over {MAX_FORM_BYTES} bytes")
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except (ClientDisconnect, UnicodeDecodeError, ValueError):
        raise RequestRejected(422, "the form can't be read") from None
    return dict(pairs)
