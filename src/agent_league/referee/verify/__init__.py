"""Verifying match files: is the content consistent, message by message?

`checks` is where to begin; `replayed_match` plays the match again from its transcript.
"""

from agent_league.referee.verify.checks import CHECKS, Finding, verify_match

__all__ = ["CHECKS", "Finding", "verify_match"]
