"""The call: sans-I/O sender and receiver cores and their drivers."""
