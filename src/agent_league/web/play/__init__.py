"""A person who plays in the browser: who sits where, what is shown, the requests and the stream."""
