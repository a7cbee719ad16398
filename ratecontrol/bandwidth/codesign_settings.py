"""What can be set of the co-designed estimator; every constant is ours, chosen over varied links.

The links were four recorded cellular ones, eight drawn at random (log-normal walks with falls and
outages), constant ones of 30 kbps to 8 Mbps, shared ones, and lossy ones, with feedback every 25 to
100 ms and every 62 ms; docs/evaluation.md has the figures.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CodesignSettings:
    """Times in us, rates in bit/s, ratios as such."""

    min_bps: int = 10_000

    # What is used of the measured capacity. A twentieth less costs a twentieth and halves the queue.
    headroom_ratio: float = 0.95
    # The queue that is aimed at, and the time in which an excess is worked off.
    aimed_queue_us: int = 15_000
    drain_us: int = 200_000
    # Frames of this part of the capacity go on even into a long queue: they keep measuring.
    least_ratio: float = 0.05

    # A frame is encoded when the queue that it will meet is below this: the next picture is newer.
    open_queue_us: int = 30_000
    # While nothing is heard a frame goes out after this, and after a part of the silence, at most so
    # long: a path that pauses gains nothing from frames that wait in it.
    silence_us: int = 150_000
    silence_ratio: float = 0.2
    longest_silence_us: int = 500_000
    # Feedback this much later than usual tells of a queue; jitter of the way back is below it. On a
    # path that loses so much, the next two frames may first have to tell that one is missing, and
    # silence may be no pause but a burst of losses, which only packets end.
    late_us: int = 20_000
    lossy_ratio: float = 0.02
    lossy_late_us: int = 80_000
    lossy_silence_us: int = 100_000
    lossy_silence_ratio: float = 0.1

    # Capacity: how fast measurements fade, and what one gap counts for at most. An outage is no rate.
    fading_us: int = 200_000
    slow_fading_us: int = 3_000_000
    longest_gap_us: int = 300_000
    # Jitter below this does not make a packet look queued.
    slack_us: int = 1_500
    # Before the least delay can be trusted, a delay that rises by this between two packets is a queue.
    rise_us: int = 5_000
    starting_us: int = 1_500_000

    # Growth while the queue is shorter than this, a part of the estimate and at most so much a second.
    growing_queue_us: int = 25_000
    growth_per_s: float = 0.35
    growth_bps_per_s: int = 150_000
    # Growth back towards what the path carried within these ten seconds, until that fails.
    return_per_s: float = 3.0
    return_per_answer: float = 0.35
    return_below_ratio: float = 0.6
    memory_us: int = 10_000_000
    failing_queue_us: int = 50_000

    # The least delay is that of so long; a queue that never empties is drained to find it again.
    base_window_us: int = 30_000_000
    idle_queue_us: int = 8_000
    drain_after_us: int = 2_000_000
    drain_for_us: int = 1_000_000
    drain_ratio: float = 0.8

    # Loss beyond what the path loses anyway (the least of ten seconds) lowers the estimate.
    excess_loss_ratio: float = 0.05

    # Frames leave so much faster than the estimate: then they queue, and their spacing tells the
    # capacity. Before the first feedback as libwebrtc does; where bursts are lost, hardly faster.
    pacing_ratio: float = 1.5
    pacing_start_ratio: float = 2.5
    pacing_lossy_ratio: float = 1.05
    # Chosen so that a key frame of the start fits the 300 ms queue of a link of 100 kbps.
    start_bps: int = 200_000
