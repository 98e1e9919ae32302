"""Checking match files: is a match true to itself, message by message?

`checks` is where to begin; `retelling` plays the match again from its transcript.
"""

from agent_league.referee.verify.checks import CHECKS, Finding, verify_match

__all__ = ["CHECKS", "Finding", "verify_match"]
