"""Forms that a browser posts: small, from our own pages alone. Raises RequestRejected for all others."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from agent_league.http.carrier import RequestRejected
from agent_league.http.header_check import HeaderCheck, HeaderFields

FORM_TYPE = b"application/x-www-form-urlencoded"
UPLOAD_TYPE = b"multipart/form-data"
MAX_FORM_BYTES = 16 * 1024
MAX_UPLOAD_BYTES = 1024 * 1024
MAX_FIELDS = 20
ALLOWED_FETCH_SITES = (b"same-origin", b"none")
"""Allowed values of `Sec-Fetch-Site`: from our own pages, or not from any page."""
UNREADABLE = "the form can't be read"
FOREIGN_PAGE = "only a page of this very server may do that"


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that was sent with a form."""

    name: str
    content: bytes


async def read_form(request: Request, header_check: HeaderCheck | None) -> dict[str, str]:
    """Read the fields of a posted form; raises RequestRejected if another site's page may have posted it.

    Without `header_check` the Origin isn't looked at: of a page under `no-referrer`, browsers call it `null`.
    """
    body = await _read_body(request, header_check, FORM_TYPE, MAX_FORM_BYTES)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except (UnicodeDecodeError, ValueError):
        raise RequestRejected(422, UNREADABLE) from None


async def read_upload(request: Request, header_check: HeaderCheck) -> tuple[dict[str, str], UploadedFile | None]:
    """Read the fields of a posted form and the file with it, in memory; raises RequestRejected as `read_form` does."""
    body = await _read_body(request, header_check, UPLOAD_TYPE, MAX_UPLOAD_BYTES)

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    fields: dict[str, str] = {}
    file = None
    try:
        parser = MultiPartParser(request.headers, stream(), max_files=1, max_fields=MAX_FIELDS)
        form = await parser.parse()
        for name, value in form.multi_items():
            if isinstance(value, str):
                fields[name] = value
            else:
                file = UploadedFile(value.filename or "", await value.read())
        await form.close()
    except (MultiPartException, KeyError, ValueError):
        raise RequestRejected(422, UNREADABLE) from None
    return fields, file


async def _read_body(request: Request, header_check: HeaderCheck | None, content_type: bytes, limit: int) -> bytes:
    """Read the body of a form of this type that a page of ours has posted; raises RequestRejected."""
    fields: HeaderFields = dict(request.scope["headers"])
    if header_check:
        header_check.check_origin(fields)
    if fields.get(b"sec-fetch-site", b"none") not in ALLOWED_FETCH_SITES:
        raise RequestRejected(403, FOREIGN_PAGE)
    if fields.get(b"content-type", FORM_TYPE).partition(b";")[0].strip().lower() != content_type:
        raise RequestRejected(415, f"expected a form ({content_type.decode()})")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise RequestRejected(413, f"the form is over {limit} bytes")
    except ClientDisconnect:
        raise RequestRejected(422, UNREADABLE) from None
    return bytes(body)
