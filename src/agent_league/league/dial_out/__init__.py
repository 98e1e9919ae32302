"""Dial-out: agents that can't be called open a seat here, and are called through the connection they keep."""
