"""The formula of a grade: numbers, columns, + - * /, comparisons, min, max and if, parsed and computed by us.

Pure: knows no league and no file. Nothing here runs what is typed; a formula only computes a number.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

MAX_FORMULA = 2000
"""Characters of a formula."""
MAX_DEPTH = 50
"""Parentheses and functions within one another."""
GRADE_COLUMNS: Mapping[str, str] = {
    "rank": "the rank, which players who can't be separated share",
    "players": "how many players the table has",
    "points": "points of the table",
    "played": "matches that count",
    "wins": "matches won",
    "draws": "matches drawn",
    "losses": "matches lost",
    "technical_losses": "matches lost technically",
    "rating": "the rating in Elo; the league's mean is 0",
    "rating_low": "the lower end of its 95% interval",
    "rating_high": "the upper end of its 95% interval",
    "withdrawn": "1 if the organiser has withdrawn the player, else 0",
    "deviations": "kinds of deviations from the protocol that were tolerated",
    "check_score": "share of the check's steps that were passed, from 0 to 100",
    "documentation_bonus": "from the file of marks, else 0",
    "innovation_bonus": "from the file of marks, else 0",
}
"""The columns that a formula may name, and what they hold; a file of marks adds its own."""
GRADE_RULES: Mapping[str, str] = {
    "points": "points",
    "rank_share": "if(played == 0, 0, 100 * (players - rank + 1) / players)",
    "course_v1": (
        "if(played == 0, 0, if(technical_losses > 0, 0,"
        " if(rank <= 1, 100, if(rank <= 2, 95, if(rank <= 3, 90, if(rank <= 5, 85, if(rank <= 10, 80,"
        " if(rank <= 15, 75, if(rank <= 20, 70, 65)))))))"
        " + if(deviations == 0, 10, 0) + documentation_bonus + innovation_bonus))"
    ),
}
"""Ready-made formulas, by name."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<name>[A-Za-z_]\w*)|(?P<sign><=|>=|==|!=|[-+*/(),<>]))", re.ASCII
)
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
ANY_COLUMN: Sequence[str] = ()
"""For a formula whose columns aren't known yet, since a file of marks may add some."""
_PRODUCTS = ("*", "/")
_SUMS = ("+", "-")

Columns = Mapping[str, float | None]
"""What the columns hold for one player; None: not known."""
Term = Callable[[Columns], float]


class FormulaError(ValueError):
    """A formula can't be read; the message points at the place."""


class GradeUnknown(Exception):
    """A formula can't be computed for somebody; the message says why."""


@dataclass(frozen=True, slots=True)
class GradeFormula:
    """A formula that was parsed."""

    text: str
    columns: frozenset[str]
    """The columns that it names."""
    term: Term

    def compute(self, columns: Columns) -> float:
        """Compute the grade; raises GradeUnknown where a value is missing or a division is by zero."""
        return self.term(columns)


def parse_formula(text: str, columns: Sequence[str] = tuple(GRADE_COLUMNS)) -> GradeFormula:
    """Parse a formula over these columns, or over any if `columns` is ANY_COLUMN; raises FormulaError."""
    return _FormulaParser(text, columns).parse()


class _FormulaParser:
    """One pass from left to right; each `_parse_` takes one kind of term and what binds tighter."""

    def __init__(self, text: str, columns: Sequence[str]) -> None:
        self._text = text
        self._columns = columns
        self._tokens = _split_tokens(text)
        self._at = 0
        self._depth = 0
        self._named: set[str] = set()

    def parse(self) -> GradeFormula:
        term = self._parse_comparison()
        if self._sign:
            raise self._fail("expected the end, an operator such as + or a comma")
        return GradeFormula(self._text, frozenset(self._named), term)

    @property
    def _sign(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *signs: str) -> str | None:
        if self._sign in signs and self._sign:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise self._fail(f"expected {sign}")

    def _fail(self, what: str) -> FormulaError:
        place = self._tokens[self._at][0] if self._at < len(self._tokens) else len(self._text)
        return _point_at(self._text, place, what)

    def _parse_comparison(self) -> Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._fail(f"expected at most {MAX_DEPTH} parentheses and functions within one another")
        term = self._parse_sum()
        if sign := self._take(*_COMPARISONS):
            compare, left, right = _COMPARISONS[sign], term, self._parse_sum()
            term = lambda row: float(compare(left(row), right(row)))  # noqa: E731 - a term like the others
        self._depth -= 1
        return term

    def _parse_sum(self) -> Term:
        term = self._parse_product()
        while sign := self._take(*_SUMS):
            term = _join_terms(operator.add if sign == "+" else operator.sub, term, self._parse_product())
        return term

    def _parse_product(self) -> Term:
        term = self._parse_factor()
        while sign := self._take(*_PRODUCTS):
            term = _join_terms(operator.mul if sign == "*" else _divide, term, self._parse_factor())
        return term

    def _parse_factor(self) -> Term:
        if self._take("-"):
            factor = self._parse_factor()
            return lambda row: -factor(row)
        if self._take("("):
            inner = self._parse_comparison()
            self._expect(")")
            return inner
        if self._sign and (self._sign[0].isdigit() or self._sign[0] == "."):
            number = float(self._sign)
            self._at += 1
            return lambda _: number
        if self._sign.isidentifier():
            return self._parse_name()
        raise self._fail("expected a number, a column or (")

    def _parse_name(self) -> Term:
        name = self._sign
        if name in _FUNCTIONS:
            self._at += 1
            return self._parse_function(name)
        if self._columns and name not in self._columns:
            raise self._fail(f"there is no column {name}; there are {', '.join(self._columns)}, and min, max, if")
        self._at += 1
        self._named.add(name)
        return lambda row: _read_column(row, name)

    def _parse_function(self, name: str) -> Term:
        least, most, build = _FUNCTIONS[name]
        self._expect("(")
        terms = [self._parse_comparison()]
        while self._take(","):
            terms.append(self._parse_comparison())
        if not least <= len(terms) <= most:
            wanted = "a condition and two values" if name == "if" else f"{least} values or more"
            raise self._fail(f"{name} takes {wanted}, not {len(terms)}")
        self._expect(")")
        return build(terms)


def _build_if(terms: Sequence[Term]) -> Term:
    condition, then, otherwise = terms
    return lambda row: (then if condition(row) else otherwise)(row)


_FUNCTIONS: Mapping[str, tuple[int, int, Callable[[Sequence[Term]], Term]]] = {
    "min": (2, 100, lambda terms: lambda row: min(term(row) for term in terms)),
    "max": (2, 100, lambda terms: lambda row: max(term(row) for term in terms)),
    "if": (3, 3, _build_if),
}
"""By name: the fewest and the most values, and how the term is built of them."""


def _split_tokens(text: str) -> list[tuple[int, str]]:
    """Split a formula into tokens with their places; raises FormulaError."""
    if len(text) > MAX_FORMULA:
        raise FormulaError(f"expected at most {MAX_FORMULA} characters, found {len(text)}")
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            raise _point_at(text, place, f"what is {text[place]!r}? expected a number, a column or an operator")
        token = found[found.lastgroup or 0]
        tokens.append((found.end() - len(token), token))
        at = found.end()
    return tokens


def _point_at(text: str, place: int, what: str) -> FormulaError:
    before, after = text[max(0, place - 30) : place], text[place : place + 30]
    return FormulaError(f"{what}, at character {place + 1}: {before}>>>{after}")


def _join_terms(join: Callable[[float, float], float], left: Term, right: Term) -> Term:
    return lambda row: join(left(row), right(row))


def _divide(left: float, right: float) -> float:
    if right == 0:
        raise GradeUnknown("the formula divides by zero")
    return left / right


def _read_column(row: Columns, name: str) -> float:
    value = row.get(name)
    if value is None:
        raise GradeUnknown(f"{name} isn't known")
    return value
