"""Pictures to bytes and back: the only package that imports av or cffi."""
