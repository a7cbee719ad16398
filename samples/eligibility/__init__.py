"""The `codecpilot eligibility` command."""
