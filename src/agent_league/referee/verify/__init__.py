"""Verifying match files: is the content consistent, message by message?

`checks` is where to begin; `replayed_match` plays the match again from its transcript.
"""

from agent_league.referee.verify.checks import CHECKS, VerifyFinding, verify_match

__all__ = ["CHECKS", "VerifyFinding", "verify_match"]
