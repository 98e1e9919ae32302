"""The league as it changes: sections of the overview, the news, and the stream that carries them."""
