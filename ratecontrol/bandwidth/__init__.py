"""How much the path carries, from transport-wide feedback. Pure: no clock, no sockets, no randomness."""
