"""Organisers in the browser: how they sign in, their page, and their exports."""
