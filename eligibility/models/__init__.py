"""Models that turn features of a device into its rtc_score."""
