from __future__ import annotations

from codecpilot.rtc.playout.playout import MAX_WAITING, DecodedPicture, Playout

from tests.rtc.fakes import FRAME_US, picture
from tests.rtc.playout.test_dependencies import frame


def decoded(index: int) -> DecodedPicture:
    return DecodedPicture(
        picture=picture(0), frame=frame(index), decoded_us=0, capture_wall_us=None
    )


def shown(playout: Playout, now_us: int) -> int | None:
    result = playout.poll(now_us=now_us)
    return None if result is None else result.frame.frame_id


def test_on_an_even_path_a_picture_is_shown_at_once():
    playout = Playout()
    for i in range(10):
        playout.insert(decoded(i), now_us=i * FRAME_US)
        assert shown(playout, i * FRAME_US) in (i, None)
        assert shown(playout, i * FRAME_US + 10) in (i, None)
    assert playout.skipped == 0


def test_early_pictures_wait_until_the_jitter_allows():
    playout = Playout()
    for i in range(100):
        late_us = 0 if i % 2 else 20_000
        playout.insert(decoded(i), now_us=i * FRAME_US + late_us)
        while playout.poll_timeout() is not None:
            playout.poll(now_us=playout.poll_timeout())
    playout.insert(decoded(101), now_us=101 * FRAME_US)
    assert shown(playout, 101 * FRAME_US + 15_000) is None
    assert 19_000 <= playout.poll_timeout() - 101 * FRAME_US <= 20_500
    assert shown(playout, playout.poll_timeout()) == 101


def test_of_pictures_that_come_late_together_only_the_newest_is_shown():
    playout = Playout()
    for i in range(60):
        playout.insert(decoded(i), now_us=i * FRAME_US)
        playout.poll(now_us=i * FRAME_US + 100)
    late_us = 70 * FRAME_US
    for i in range(60, 70):
        playout.insert(decoded(i), now_us=late_us)
    assert shown(playout, late_us) == 69
    assert playout.skipped == 9
    assert playout.poll_timeout() is None


def test_pictures_never_pile_up():
    playout = Playout()
    playout.delay.set_minimum(500_000)
    for i in range(100):
        playout.insert(decoded(i), now_us=i)
    assert shown(playout, 100) == 100 - MAX_WAITING - 1
    assert shown(playout, 100) is None


def test_few_pictures_wait_where_they_are_large():
    playout = Playout()
    playout.delay.set_minimum(500_000)
    large = picture(0, width=8192, height=4352)
    for i in range(10):
        playout.insert(
            DecodedPicture(picture=large, frame=frame(i), decoded_us=0, capture_wall_us=None),
            now_us=i * FRAME_US,
        )
        assert shown(playout, i * FRAME_US) == (i - 1 if i else None)
    assert playout.skipped == 0
