"""What people have already: dumps of call statistics, read into telemetry rows."""
