"""Incidents: five kinds, each under way or still coming.

A story is told by its traces: at the cause itself, and, where it hurts already, at those who need it. While
it is coming nobody who needs the cause feels it yet. `due_minutes` is when it would. What does not live
here: the days on which nothing is wrong (decoys.py), and the noise between (decoys.py).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from packs.early_warning.scene import Scene, Sighting, Story, supporting

Tell = Callable[[Scene, str], Story]


def _under_way(scene: Scene, situation: str, cause: str, step: str, why: str, *signs: Sighting) -> Story:
    start = max(sign.minute for sign in signs if sign.kind in ("deploy", "log", "usage", "notice"))
    felt = scene.harm(cause, min(start + 1, -5))
    later = (Sighting(4, "alert", cause, "error budget of the day is spent"),
             Sighting(7, "chat", cause, "incident channel opened"))
    touched = frozenset((cause, *scene.users(cause)))
    return Story(situation, "under_way", cause, step, why, supporting(*signs, *felt), later, touched)


def _coming(
    scene: Scene, situation: str, cause: str, step: str, due: int, why: str, *signs: Sighting,
) -> Story:
    later = (scene.errors(due + 2, cause, scene.dice.tenths(8, 30)),
             Sighting(due + 4, "alert", cause, "error rate above 3 %"))
    fine = scene.fine_users(cause, -scene.dice.between(4, 9))
    touched = frozenset((cause, *scene.users(cause)))
    return Story(situation, "coming", cause, step, why, (*supporting(*signs), *fine), later, touched, due)


def bad_deploy_under_way(scene: Scene, cause: str) -> Story:
    """A new version fails wherever it runs."""
    version, start = scene.version(), -scene.dice.between(16, 30)
    return _under_way(
        scene, "bad_deploy", cause, "rollback", f"{version} of {cause} fails since it was rolled out",
        Sighting(start, "deploy", cause, f"{version} rolled out to all hosts"),
        scene.errors(start + 3, cause, scene.dice.tenths(5, 9)),
        Sighting(start + 5, "log", cause, f"{version}: unhandled error in a new code path"),
        scene.errors(start + 10, cause, scene.dice.tenths(12, 24)))


def bad_deploy_coming(scene: Scene, cause: str) -> Story:
    """A new version fails on the few hosts that have it; the rest get it soon."""
    version, start, due = scene.version(), -scene.dice.between(12, 24), scene.dice.between(12, 25)
    return _coming(
        scene, "bad_deploy", cause, "rollback", due,
        f"{version} of {cause} fails on the first hosts that have it",
        Sighting(start, "deploy", cause, f"{version} on 2 % of hosts, all hosts at {scene.clock(due)}"),
        scene.errors(start + 4, cause, scene.dice.tenths(7, 20), " on new hosts"),
        Sighting(start + 6, "log", cause, f"{version}: unhandled error in a new code path"),
        scene.fine(-3, cause))


def dependency_under_way(scene: Scene, cause: str) -> Story:
    """A service has become slow, and those who need it fail before it does."""
    start = -scene.dice.between(14, 26)
    return _under_way(
        scene, "slow_dependency", cause, "failover",
        f"{cause} has become slow, and its users run out of time",
        scene.latency(start, cause, scene.dice.tenths(2.5, 4)),
        Sighting(start + 3, "usage", cause, "connection pool 100 %, callers wait"),
        scene.latency(start + 8, cause, scene.dice.tenths(6, 11)),
        Sighting(start + 6, "log", scene.dice.pick(scene.users(cause)), f"timeout calling {cause}, gave up"))


def dependency_coming(scene: Scene, cause: str) -> Story:
    """A service becomes slower and its pool fills; its users retry, and still succeed."""
    due = scene.dice.between(10, 20)
    return _coming(
        scene, "slow_dependency", cause, "failover", due,
        f"{cause} becomes slower; its connection pool is full soon",
        scene.latency(-24, cause, 1.3), scene.latency(-13, cause, 1.8), scene.latency(-4, cause, 2.6),
        Sighting(-15, "usage", cause, f"connection pool {scene.dice.between(66, 74)} %"),
        Sighting(-5, "usage", cause, f"connection pool {scene.dice.between(86, 93)} %"),
        Sighting(-3, "log", scene.dice.pick(scene.users(cause)), f"second try at {cause} succeeded"))


def _resource(scene: Scene) -> tuple[str, str]:
    return scene.dice.pick((("disk", "write failed: no space left"), ("memory", "killed: out of memory"),
                            ("file handles", "cannot open file: too many open")))


def leak_under_way(scene: Scene, cause: str) -> Story:
    """Something that fills slowly is full."""
    (thing, cry), start = _resource(scene), -scene.dice.between(12, 20)
    return _under_way(
        scene, "slow_leak", cause, "free_space", f"{thing} of {cause} is full",
        Sighting(start - 30, "usage", cause, f"{thing} {scene.dice.between(84, 88)} %"),
        Sighting(start - 12, "usage", cause, f"{thing} {scene.dice.between(93, 96)} %"),
        Sighting(start, "usage", cause, f"{thing} 100 %"),
        Sighting(start + 1, "log", cause, cry),
        scene.errors(start + 5, cause, scene.dice.tenths(10, 30)))


def leak_coming(scene: Scene, cause: str) -> Story:
    """Something fills slowly, and a line through its readings meets 100 % soon."""
    (thing, _), due, rate = _resource(scene), scene.dice.between(14, 28), scene.dice.tenths(0.4, 0.9)

    def level(minute: int) -> Sighting:
        return Sighting(minute, "usage", cause, f"{thing} {round(100 - rate * (due - minute))} %")

    return _coming(
        scene, "slow_leak", cause, "free_space", due, f"{thing} of {cause} is full in {due} minutes",
        level(-44), level(-29), level(-16), level(-3))


def _secret(scene: Scene) -> str:
    return scene.dice.pick(("certificate", "signing key", "database password", "access token"))


def expiry_under_way(scene: Scene, cause: str) -> Story:
    """A certificate or credential has run out, to the minute."""
    secret, start = _secret(scene), -scene.dice.between(8, 22)
    return _under_way(
        scene, "secret_expiry", cause, "renew", f"the {secret} of {cause} has expired",
        Sighting(start - 25, "log", cause, f"renewal of {secret} failed, no retry planned"),
        Sighting(start + 1, "log", cause, f"{secret} not accepted: expired {scene.clock(start)}"),
        scene.errors(start + 2, cause, scene.dice.tenths(60, 99)))


def expiry_coming(scene: Scene, cause: str) -> Story:
    """A certificate or credential runs out soon, and what should renew it has failed."""
    secret, due = _secret(scene), scene.dice.between(12, 28)
    return _coming(
        scene, "secret_expiry", cause, "renew", due,
        f"the {secret} of {cause} expires in {due} minutes, not renewed",
        Sighting(-33, "log", cause, f"{secret} valid until {scene.clock(due)}"),
        Sighting(-19, "log", cause, f"renewal of {secret} failed: no answer"),
        Sighting(-7, "log", cause, f"renewal of {secret} failed again, last try"),
        scene.fine(-5, cause))


def spike_under_way(scene: Scene, cause: str) -> Story:
    """More requests than a service can take, and no host left to add."""
    hosts, start = scene.dice.between(6, 20), -scene.dice.between(10, 20)
    return _under_way(
        scene, "traffic_spike", cause, "scale_up", f"{cause} is asked for more than its {hosts} hosts can do",
        Sighting(start - 4, "usage", cause, f"requests {scene.dice.tenths(3, 5)} times usual"),
        Sighting(start, "usage", cause, f"cpu 99 %, {hosts} of {hosts} hosts"),
        scene.latency(start + 2, cause, scene.dice.tenths(5, 9)))


def spike_coming(scene: Scene, cause: str) -> Story:
    """A crowd is announced, and there is no host left to add."""
    hosts, due = scene.dice.between(6, 20), scene.dice.between(10, 25)
    return _coming(
        scene, "traffic_spike", cause, "scale_up", due,
        f"a crowd comes to {cause} in {due} minutes, and no host is left",
        Sighting(-35, "notice", cause,
                 f"mail to {scene.dice.between(2, 9)} million customers at {scene.clock(due)}"),
        Sighting(-11, "usage", cause, f"cpu {scene.dice.between(72, 79)} %, {hosts - 1} of {hosts} hosts"),
        Sighting(-4, "usage", cause, f"cpu {scene.dice.between(80, 88)} %, {hosts} of {hosts} hosts"),
        Sighting(-4, "log", cause, f"no host to add: limit {hosts} reached"))


UNDER_WAY: Mapping[str, Tell] = {
    "bad_deploy": bad_deploy_under_way, "slow_dependency": dependency_under_way, "slow_leak": leak_under_way,
    "secret_expiry": expiry_under_way, "traffic_spike": spike_under_way}
COMING: Mapping[str, Tell] = {
    "bad_deploy": bad_deploy_coming, "slow_dependency": dependency_coming, "slow_leak": leak_coming,
    "secret_expiry": expiry_coming, "traffic_spike": spike_coming}
