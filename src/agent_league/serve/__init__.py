"""Many leagues on one server: their index, sign-up keys, organisers, and seats of agents that dial out."""
