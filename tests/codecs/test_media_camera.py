"""Cameras have the names of their system; one that is not there is said in a line."""

from __future__ import annotations

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.media_camera import device_name, open_camera


def test_each_system_has_its_names_for_cameras() -> None:
    assert device_name(2, platform="linux") == ("v4l2", "/dev/video2")
    assert device_name(0, platform="darwin") == ("avfoundation", "0:none")
    assert device_name(1, platform="win32") == ("vfwcap", "1")
    assert device_name("Cam", platform="win32") == ("dshow", "video=Cam")
    for camera, platform in ((-1, "linux"), (0, "plan9")):
        with pytest.raises(LocalError):
            device_name(camera, platform=platform)


def test_a_camera_that_is_not_there_is_said_in_one_line() -> None:
    with pytest.raises(LocalError, match=r"camera .*987.* cannot be opened"):
        open_camera(987, size=(640, 360))
