"""How frames travel and how calls are answered: JSON-RPC, carriers, peers, dispatch.

Knows no league, no referee and no game; carriers don't even read what they carry.
"""
