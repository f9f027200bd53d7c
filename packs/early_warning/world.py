"""The service map: who needs whom, and how bad it is if one fails.

What does not live here: what happens to the services (situations.py, decoys.py).
"""
from __future__ import annotations

from collections.abc import Sequence

from packs.early_warning.dice import Dice
from packs.early_warning.values import Service

ENTRIES = ("web", "mobile", "kiosk", "partner-api")
SHARED = ("auth", "sessions", "flags", "router")
MIDDLE = ("cart", "search", "orders", "catalog", "payments", "profile", "shipping",
          "reviews", "pricing", "coupons")
STORES = ("orders-db", "users-db", "stock-db", "files", "redis", "ledger")
INTERNAL = ("reports", "audit", "exports", "crawler", "payroll", "archive")


def make_services(dice: Dice) -> tuple[Service, ...]:
    """10 to 13 services in any order: two entries, what both share, what each has for itself, and an office
    side that no entry needs."""
    left, right = dice.some(ENTRIES, 2)
    first, second = dice.some(SHARED, 2)
    middle = dice.some(MIDDLE, dice.between(3, 4))
    stores = dice.some(STORES, dice.between(1, 2))
    office = dice.some(INTERNAL, dice.between(2, 3))
    services = [
        Service(left, True, (first, *middle[:2])),
        Service(right, True, (first, second, *middle[2:])),
        Service(first, False, (stores[0],)),
        Service(second, False, ()),
        *(Service(name, False, (dice.pick(stores),)) for name in middle),
        *(Service(name, False, ()) for name in stores),
        Service(office[0], False, (office[1], stores[-1])),
        Service(office[1], False, ()),
        *(Service(name, False, (office[1],)) for name in office[2:]),
    ]
    return dice.shuffled(services)


def needed_by(services: Sequence[Service], name: str) -> frozenset[str]:
    """All that a service needs, directly or through others, and itself."""
    needs = {one.name: one.needs for one in services}
    found: set[str] = set()
    waiting = [name]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting.extend(needs.get(here, ()))
    return frozenset(found)


def users_of(services: Sequence[Service], name: str) -> tuple[str, ...]:
    """The services that call this one directly, in the order of the map."""
    return tuple(one.name for one in services if name in one.needs)


def severity_of(services: Sequence[Service], cause: str) -> str:
    """critical: every entry needs the cause; high: some do; low: none does. Solvers are told this rule."""
    hit = [cause in needed_by(services, one.name) for one in services if one.is_entry]
    if all(hit):
        return "critical"
    return "high" if any(hit) else "low"
