"""Reading of media for calls and evaluation: files, their sound, cameras."""

from .media_audio import AudioBlock, open_audio
from .media_camera import open_camera
from .media_container import MediaInfo, probe
from .media_video import open_video

__all__ = ["AudioBlock", "MediaInfo", "open_audio", "open_camera", "open_video", "probe"]
