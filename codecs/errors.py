"""Exceptions of the whole project: one base, and whose fault it was."""


class CodecpilotError(Exception):
    """Base of every error that codecpilot raises on purpose."""


class LocalError(CodecpilotError, ValueError):
    """Our own side was misused: a bad setting, a missing file or library, a call out of order."""


class RemoteError(CodecpilotError, ValueError):
    """A peer or a bitstream sent something that its specification forbids."""
