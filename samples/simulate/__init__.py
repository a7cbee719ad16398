"""The `simulate` subcommand: a call in virtual time, its figures and its report."""
