"""The league protocol: message models, the table of methods, checks, tokens, and tolerance of foreign forms.

Knows neither how a message is transported nor how it is handled.
"""
