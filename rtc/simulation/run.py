"""Runs a scenario in virtual time: its calls, and what shares their links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .call import MICRO, OTHER, Call, Direction, Ground, OpenSink
from .cross_traffic import CrossTraffic
from .event_loop import EventLoop
from .link_setup import open_link
from .records import EventLog
from .scenario import Scenario
from .tools import Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished run.

    directions are "a->b" and "b->a", those of a second call "a2->b2" and "b2->a2", and so on. cross
    goes by the link, "ab" or "ba".
    """

    scenario: Scenario
    directions: Mapping[str, Direction]
    cross: Mapping[str, CrossTraffic]
    events: EventLog


def simulate(
    scenario: Scenario,
    tools: Tools,
    *,
    open_sink: OpenSink = lambda direction: None,
    progress: Callable[[int], None] = lambda now_us: None,
) -> Run:
    """Run a scenario to its end. Raises LocalError for what a codec or the device model refuses.

    open_sink gives each direction its sink of compared pictures; progress is told the time after
    each virtual second.
    """
    ground = Ground(
        scenario=scenario,
        tools=tools,
        loop=EventLoop(),
        links={
            role: open_link(
                scenario.links[role + OTHER[role]], sender=role, generator=tools.generator
            )
            for role in OTHER
        },
        events=EventLog(),
        open_sink=open_sink,
    )
    cross = {role + OTHER[role]: _cross(ground, role) for role in OTHER}
    calls: list[Call] = []
    try:
        _run(ground, calls, progress)
    finally:
        for call in calls:
            call.close()
    return Run(
        scenario=scenario,
        directions={d.name: d for call in calls for d in call.directions()},
        cross=cross,
        events=ground.events,
    )


def _run(ground: Ground, calls: list[Call], progress: Callable[[int], None]) -> None:
    scenario, loop = ground.scenario, ground.loop

    def begin() -> None:
        calls.append(Call(ground, number=len(calls) + 1))
        calls[-1].start()

    begin()
    for _ in range(1, scenario.calls):
        loop.at(scenario.calls_start_us, begin)
    while loop.now_us < scenario.duration_us:
        loop.run_until(min(loop.now_us + MICRO, scenario.duration_us))
        progress(loop.now_us)
    for call in calls:
        call.finish()


def _cross(ground: Ground, role: str) -> CrossTraffic:
    scenario, back = ground.scenario, OTHER[role] + role
    return CrossTraffic(
        scenario.links[role + OTHER[role]].cross_flows,
        link=ground.links[role],
        ack_delay_us=scenario.links[back].settings.delay_us,
        loop=ground.loop,
    )
