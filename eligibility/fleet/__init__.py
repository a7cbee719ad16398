"""A simulated fleet: device models, their calls and the telemetry rows these leave."""
