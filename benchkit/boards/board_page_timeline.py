"""A sampled case as a picture: its observations in lanes by service, each kind with a sign, and the moment T."""
from __future__ import annotations

from benchkit.basics.texts import are, count_of, shown_line
from benchkit.boards.board_values import SampledCase, Seen
from benchkit.boards.board_words import short_name
from benchkit.pages.html import Html, element, whole
from benchkit.pages.timeline_chart import Lane, Moment, TimelineChart, TimelineEvent, timeline_chart

MOST_LANES = 24
UNIT = "min"


def timeline_of(case: SampledCase) -> Html:
    """The picture; nothing where no observation has a time."""
    timed = [one for one in case.observations if one.minute is not None]
    if not timed:
        return Html()
    lanes, left_out = _lanes(timed)
    kinds = list(dict.fromkeys(one.kind for one in timed))
    chart = TimelineChart(
        f"{short_name(case.id)} along its time, minutes from now", "service",
        [Lane(short_name(lane), [_event(one, kinds) for one in timed if one.service == lane]) for lane in lanes],
        [short_name(kind) for kind in kinds], UNIT, Moment(0.0, f"now, {shown_line(case.now, 20)}"),
        "cited by an answer")
    told = f"{count_of(left_out, 'more service')} {are(left_out)} in the list only." if left_out else None
    return whole((*timeline_chart(chart), element("p", told, class_="quiet") if told else Html()))


def _lanes(timed: list[Seen]) -> tuple[list[str], int]:
    """The services, those with most observations first where there are too many; and how many are left out."""
    services = list(dict.fromkeys(one.service for one in timed))
    if len(services) <= MOST_LANES:
        return services, 0
    by_count = sorted(services, key=lambda service: -sum(one.service == service for one in timed))
    return by_count[:MOST_LANES], len(services) - MOST_LANES


def _event(one: Seen, kinds: list[str]) -> TimelineEvent:
    words = f"{short_name(one.id)} {short_name(one.kind)}: {shown_line(one.text, 200)}"
    return TimelineEvent(one.minute or 0.0, kinds.index(one.kind), words, bool(one.cited_by))
