"""Redacting agents' network addresses from text, as nothing public may tell where an agent listens."""

import re

_ADDRESS_PATTERN = re.compile(
    r"""
      (?<![\w+.-])[a-z][a-z0-9+.-]{1,12}+://[^\s'"\\<>]*[^\s'"\\<>:;,.)\]]    # with a scheme
    | (?<![\w.-])(?:localhost|(?:[\w-]{1,63}+\.){1,8}[a-z][a-z0-9-]{1,62}+):\d{1,5}\b
    | (?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])(?::\d{1,5}\b)?
    | (?<=\bhost\ )\S{1,255}:\d{1,5}                  # a name without a dot, as HTTP clients tell it
    | \('[^']{0,255}',\ \d{1,5}(?:,\ \d+){0,2}\)      # a socket's: ('127.0.0.1', 8101)
    | \[[0-9a-f]{0,4}:[0-9a-f]{0,4}:[0-9a-f:.]{0,40}(?:%\w{1,20})?\](?::\d{1,5})?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
"""Each alternative begins at a word boundary, so that a long text is scanned once."""


def redact_addresses(text: str) -> str:
    """Replace every network address in a text by the words `its address`."""
    return _ADDRESS_PATTERN.sub("its address", text)
