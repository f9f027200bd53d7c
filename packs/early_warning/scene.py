"""What the stories are told with: the clock, the services, and sentences for single observations.

What does not live here: the stories themselves (situations.py, decoys.py).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from packs.early_warning.dice import Dice
from packs.early_warning.values import Service
from packs.early_warning.world import make_services, needed_by, users_of

PATIENCE_MINUTES = 30
"""How long there is to say that nothing is wrong, or what has begun already."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """An observation before it has an id. `supports`: it is a trace of what is true, not noise."""

    minute: int
    kind: str
    service: str
    text: str
    supports: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """What happened and what it means. `sightings` are up to now, `later` after it; `touched` are services
    noise must keep away from."""

    situation: str
    incident: str
    cause: str
    next: str
    why: str
    sightings: tuple[Sighting, ...]
    later: tuple[Sighting, ...]
    touched: frozenset[str]
    due_minutes: int = PATIENCE_MINUTES


@dataclass(frozen=True, slots=True)
class Scene:
    """A service map at a time of day (`now`, in minutes since midnight), what is usual for each service
    (latency in milliseconds, errors in percent), and the dice."""

    dice: Dice
    services: tuple[Service, ...]
    now: int
    usual_ms: Mapping[str, int]
    usual_errors: Mapping[str, float]

    def clock(self, minute: int) -> str:
        """HH:MM of a minute that counts from now."""
        return f"{(self.now + minute) // 60:02d}:{(self.now + minute) % 60:02d}"

    def users(self, name: str) -> tuple[str, ...]:
        """Who calls a service directly."""
        return users_of(self.services, name)

    def entries_above(self, name: str) -> tuple[str, ...]:
        """The entries that need a service, itself included if it is one."""
        return tuple(one.name for one in self.services
                     if one.is_entry and name in needed_by(self.services, one.name))

    def version(self) -> str:
        """A version number, such as v4.12.0."""
        return f"v{self.dice.between(1, 9)}.{self.dice.between(1, 30)}.{self.dice.between(0, 4)}"

    def latency(self, minute: int, name: str, times: float) -> Sighting:
        """The 95th percentile, as a multiple of what is usual."""
        usual = self.usual_ms[name]
        return Sighting(minute, "latency", name, f"p95 {round(usual * times)} ms, usual {usual}")

    def errors(self, minute: int, name: str, percent: float, where: str = "") -> Sighting:
        """The share of failed requests."""
        return Sighting(minute, "errors", name, f"{percent} %{where}, usual {self.usual_errors[name]}")

    def usual(self, minute: int, name: str) -> Sighting:
        """A reading with nothing in it."""
        if self.dice.happens(0.5):
            return self.latency(minute, name, self.dice.tenths(0.8, 1.2))
        return self.fine(minute, name)

    def fine(self, minute: int, name: str) -> Sighting:
        """A usual share of failed requests."""
        return self.errors(minute, name, round(self.usual_errors[name] + self.dice.tenths(-0.1, 0.1), 1))

    def harm(self, name: str, minute: int) -> tuple[Sighting, ...]:
        """What others feel of a failing service: its users' readings, an alert, a word from outside."""
        hurt = self.dice.some(self.users(name), 2) or (name,)
        felt = [self.errors(minute + number, user, self.dice.tenths(3.5, 8.5))
                for number, user in enumerate(hurt)]
        felt.append(Sighting(minute + 2, "alert", hurt[0], "error rate above 3 %"))
        entries = self.entries_above(name)
        if entries:
            words = self.dice.pick(
                ("page ends in an error", "cannot finish, tried twice", "nothing but a spinner"))
            felt.append(Sighting(minute + 3, "ticket", self.dice.pick(entries),
                                 f"{self.dice.between(3, 40)} customers: {words}"))
        else:
            felt.append(Sighting(minute + 3, "chat", hurt[-1], "finance asks why tonight's run has stopped"))
        return tuple(felt)

    def fine_users(self, name: str, minute: int) -> tuple[Sighting, ...]:
        """The users of a service that feel nothing yet."""
        return tuple(self.usual(minute + number, user) for number, user in enumerate(self.users(name)[:2]))


def make_scene(dice: Dice) -> Scene:
    """A new service map, at a time between 07:00 and 21:00."""
    services = make_services(dice)
    names = sorted(one.name for one in services)
    return Scene(
        dice, services, dice.between(7 * 60, 21 * 60), {name: 10 * dice.between(6, 30) for name in names},
        {name: dice.tenths(0.2, 0.9) for name in names})


def supporting(*sightings: Sighting) -> tuple[Sighting, ...]:
    """The same, marked as traces of what is true."""
    return tuple(replace(one, supports=True) for one in sightings)
