"""Grades of a class: rows from a league's table and roster, in the forms that gradebooks import."""
