"""A whole call in virtual time: emulated links, device models, and the cores that run live calls."""
