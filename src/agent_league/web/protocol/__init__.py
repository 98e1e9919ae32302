"""What the pages of the protocol are made of: messages, their fields, and examples."""
