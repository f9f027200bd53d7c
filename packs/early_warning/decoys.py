"""Days on which nothing is wrong, however it looks, and the noise that fills every stream.

What does not live here: incidents (situations.py).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from packs.early_warning.scene import Scene, Sighting, Story, supporting

Tell = Callable[[Scene, str], Story]


def _healthy(scene: Scene, situation: str, service: str, why: str, *signs: Sighting) -> Story:
    later = (scene.usual(6, service), Sighting(9, "chat", service, "a calm day after all"))
    return Story(situation, "none", "none", "wait", why, supporting(*signs), later, frozenset((service,)))


def quiet(scene: Scene, service: str) -> Story:
    """Readings as ever."""
    return _healthy(scene, "quiet_day", service, "every reading is as usual",
                    scene.usual(-25, service), scene.usual(-14, service), scene.usual(-2, service))


def planned_maintenance(scene: Scene, service: str) -> Story:
    """A service is down on purpose, and its traffic goes elsewhere."""
    start, end = -scene.dice.between(12, 30), scene.dice.between(8, 30)
    return _healthy(
        scene, "planned_maintenance", service, f"{service} is in planned maintenance; its twin serves",
        Sighting(start - 12, "notice", service,
                 f"planned work {scene.clock(start)}-{scene.clock(end)}, twin serves"),
        scene.errors(start + 3, service, scene.dice.tenths(40, 99), " on hosts in work"),
        Sighting(start + 4, "alert", service, "error rate above 3 %"),
        *(scene.usual(-4, user) for user in scene.users(service)[:2]),
        Sighting(start + 6, "chat", service, "that alert is the planned work, twin is fine"))


def healed(scene: Scene, service: str) -> Story:
    """A short trouble that is over."""
    start = -scene.dice.between(26, 45)
    return _healthy(
        scene, "healed_blip", service,
        f"the trouble of {service} ended by itself; its readings are usual since",
        scene.errors(start, service, scene.dice.tenths(8, 25)),
        Sighting(start + 1, "alert", service, "error rate above 3 %"),
        Sighting(start + 7, "alert", service, "resolved: error rate below 1 %"),
        scene.fine(-9, service), scene.latency(-2, service, 1.0))


def healthy_crowd(scene: Scene, service: str) -> Story:
    """Many requests, and hosts enough."""
    hosts = scene.dice.between(8, 20)
    return _healthy(
        scene, "healthy_crowd", service, f"{service} has a crowd and room for it",
        Sighting(-28, "usage", service, f"requests {scene.dice.tenths(2.5, 4)} times usual"),
        Sighting(-22, "usage", service, f"cpu {scene.dice.between(90, 96)} %, {hosts} of {hosts * 3} hosts"),
        Sighting(-10, "usage", service,
                 f"cpu {scene.dice.between(44, 58)} %, {hosts * 2} of {hosts * 3} hosts"),
        scene.latency(-4, service, 1.1), scene.fine(-3, service))


def renewed_in_time(scene: Scene, service: str) -> Story:
    """A certificate that was about to expire has been renewed."""
    return _healthy(
        scene, "renewed_in_time", service, f"the certificate of {service} was renewed in time",
        Sighting(-38, "log", service, f"certificate valid until {scene.clock(scene.dice.between(15, 30))}"),
        Sighting(-31, "log", service, "renewal of certificate failed: no answer"),
        Sighting(-30, "alert", service, "certificate expires in less than 1 hour"),
        Sighting(-12, "log", service, f"certificate renewed, valid {scene.dice.between(60, 90)} days"),
        scene.fine(-3, service))


HEALTHY: Mapping[str, Tell] = {
    "quiet_day": quiet, "planned_maintenance": planned_maintenance, "healed_blip": healed,
    "healthy_crowd": healthy_crowd, "renewed_in_time": renewed_in_time}

_TICKETS = ("one customer forgot a password", "a wish: dark mode", "a copy of an invoice, please",
            "typo on the help page", "how do I change my address?", "praise for the new icons")
_CHAT = ("is the lab key with you?", "retro moved to Thursday", "who owns this dashboard now?",
         "cake in the kitchen", "docs are out of date again", "new colleague says hello")
_LOGS = ("deprecated option in use", "cache rebuilt", "config reloaded", "slow query, done after 2 s")


def noise(scene: Scene, story: Story) -> tuple[Sighting, ...]:
    """What every day has, away from the services of the story: 11 to 15 sightings that mean nothing.

    Where nothing is wrong, a usual reading is a trace of just that.
    """
    dice = scene.dice
    calm = [one.name for one in scene.services if one.name not in story.touched]
    readings = [scene.usual(-dice.between(1, 50), name) for name in dice.some(calm, dice.between(4, 5))]
    if story.incident == "none":
        readings = list(supporting(*readings))
    bumpy, changed = dice.some(calm, 2)
    start = -dice.between(20, 50)
    found = [*readings,
             Sighting(start, "alert", bumpy, "latency above 1 s"),
             Sighting(start + 4, "alert", bumpy, "resolved: latency below 1 s"),
             Sighting(-dice.between(15, 55), "deploy", changed, f"{scene.version()} rolled out to all hosts"),
             scene.usual(-dice.between(1, 12), changed)]
    entries = [one.name for one in scene.services if one.is_entry]
    for kind, words, places in (("ticket", _TICKETS, entries), ("chat", _CHAT, calm), ("log", _LOGS, calm)):
        for text in dice.some(words, dice.between(1, 2)):
            found.append(Sighting(-dice.between(1, 55), kind, dice.pick(places), text))
    return tuple(found)
