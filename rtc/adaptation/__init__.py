"""The device's side of a stream: codec, preset, size and pace by what is measured at both ends. Pure."""
