"""The aiortc adapter."""
