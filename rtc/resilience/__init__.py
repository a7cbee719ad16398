"""How loss is survived: NACK now; layers, FEC and long-term references with it."""
