"""Which devices get AV1: telemetry in, a calibrated score per device out."""
