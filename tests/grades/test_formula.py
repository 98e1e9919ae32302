"""The formula of a grade: what it computes, and where it says that something is wrong."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.model.grade_formula import (
    GRADE_COLUMNS,
    GRADE_RULES,
    MAX_DEPTH,
    MAX_FORMULA,
    FormulaError,
    GradeUnknown,
    parse_formula,
)

ROW = {"points": 12.0, "played": 6.0, "rank": 2.0, "rating": None}


@pytest.mark.parametrize(
    ("formula", "grade"),
    [
        ("7", 7),
        (" 2 + 3 * 4 - 6 / 3 ", 12),
        ("-(2 - 5) * -.5", -1.5),
        ("points / played", 2),
        ("min(100, points * 10, 90)", 90),
        ("max(rank, 3)", 3),
        ("if(points >= 12, 1, 2) + if(rank != 2, 10, 20)", 21),
        ("if(played == 0, points / 0, 5)", 5),
        ("if(rank < 3, if(rank <= 1, 100, 95), rating)", 95),
        ("1 - 1 - 1", -1),
        ("8 / 4 / 2", 1),
        ("(points > 3) + (points > 30)", 1),
    ],
)
def test_a_formula_computes_what_is_written(formula: str, grade: float) -> None:
    assert parse_formula(formula).compute(ROW) == grade


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("", "expected a number, a column or (, at character 1: >>>"),
        ("points +", "expected a number, a column or (, at character 9: points +>>>"),
        ("points points", "expected the end, an operator such as + or a comma, at character 8: points >>>points"),
        ("pints", "there is no column pints; there are rank, players, points"),
        ("min(1)", "min takes 2 values or more, not 1"),
        ("if(1, 2)", "if takes a condition and two values, not 2"),
        ("(1", "expected ), at character 3: (1>>>"),
        ("points ** 2", "at character 9: points *>>>* 2"),
        ("__import__('os')", 'what is "\'"?'),
        ("exec + 1", "there is no column exec"),
        ("points.real", "what is '.'?"),
        ("1 < 2 < 3", "expected the end"),
        ("1;2", "what is ';'? expected a number, a column or an operator, at character 2: 1>>>;2"),
        ("(" * (MAX_DEPTH + 1) + "1", f"at most {MAX_DEPTH} parentheses"),
        ("-" * MAX_FORMULA + "1", f"at most {MAX_FORMULA} characters"),
    ],
)
def test_a_formula_that_can_t_be_read_points_at_the_place(formula: str, sentence: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(sentence)):
        parse_formula(formula)


def test_what_isn_t_known_and_what_can_t_be_divided_is_told() -> None:
    with pytest.raises(GradeUnknown, match="rating isn't known"):
        parse_formula("rating + 1").compute(ROW)
    with pytest.raises(GradeUnknown, match="divides by zero"):
        parse_formula("1 / (rank - 2)").compute(ROW)


@given(st.text(alphabet="0123456789.+-*/()<>=! ,abinmxfprot_", max_size=60))
def test_any_text_is_a_number_or_a_sentence(text: str) -> None:
    with suppress(FormulaError, GradeUnknown):
        assert isinstance(parse_formula(text).compute(dict.fromkeys(GRADE_COLUMNS, 1.0)), float)


COURSE = {"played": 9, "technical_losses": 0, "deviations": 1, "documentation_bonus": 0, "innovation_bonus": 0}


@pytest.mark.parametrize(
    ("rank", "grade"), [(1, 100), (2, 95), (3, 90), (4, 85), (5, 85), (6, 80), (10, 80), (11, 75), (16, 70), (21, 65)]
)
def test_the_course_s_rules_give_points_by_rank(rank: int, grade: int) -> None:
    assert parse_formula(GRADE_RULES["course_v1"]).compute({**COURSE, "rank": rank}) == grade


@pytest.mark.parametrize(
    ("more", "grade"),
    [({"deviations": 0}, 110), ({"documentation_bonus": 5}, 105), ({"technical_losses": 1}, 0), ({"played": 0}, 0)],
)
def test_the_course_s_rules_have_a_bonus_and_disqualify(more: dict[str, float], grade: int) -> None:
    assert parse_formula(GRADE_RULES["course_v1"]).compute({**COURSE, "rank": 1, **more}) == grade
