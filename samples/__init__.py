"""What people run: the codecpilot command."""
