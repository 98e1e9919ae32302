"""The referee layer: one match from invitation to report. It knows the rules only through the game seam."""
