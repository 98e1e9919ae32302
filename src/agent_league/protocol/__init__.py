"""The league protocol: wire types, the table of methods, and the checks every message goes through.

Stands alone: nothing here knows how a message travels or what is done with it.
"""
