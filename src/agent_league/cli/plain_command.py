"""A command of Typer whose errors about values say what was expected and what came, in plain words.

Typer hands on the words of the library that it checks values with.
"""

from typing import Any

from typer import BadParameter
from typer.core import TyperCommand

PLAIN_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "expected a whole number",
    "Input should be a valid number, unable to parse string as a number": "expected a number",
    "Input should be a valid": "expected a",
    "Input should be": "expected a number",
}
"""Beginnings of the library's sentences, and what stands for them."""


class PlainCommand(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            error.message = describe_bad_value(error)
            raise


def describe_bad_value(error: BadParameter) -> str:
    """Say what was expected of a value, and what came."""
    beginning = next((words for words in PLAIN_WORDS if error.message.startswith(words)), None)
    if beginning is None:
        return error.message
    sentence = PLAIN_WORDS[beginning] + error.message.removeprefix(beginning)
    found: list[Any] = getattr(error.__cause__, "errors", list)()
    return sentence if not PLAIN_WORDS[beginning] or not found else f"{sentence}, found {found[0]['input']!r}"
