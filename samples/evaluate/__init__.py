"""Offline evaluation: clips times codecs times rates, measured as a viewer sees them, and reported."""
