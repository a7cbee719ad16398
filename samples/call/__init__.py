"""`codecpilot call`: two peers on this machine, a page that shows both, and their figures."""
