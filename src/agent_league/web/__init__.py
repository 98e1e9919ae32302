"""The league to look at: pages, a live feed, and the same pages as files. Reads the season and never changes it."""
