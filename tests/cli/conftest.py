"""`league check` keeps its key in the tests' own cache folder here too."""

from tests.conformance.conftest import cache

__all__ = ["cache"]
