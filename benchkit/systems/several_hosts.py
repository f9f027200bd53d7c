"""One model on several servers: each with a queue of its own, and all of them serve the same, or nothing is recorded.

    --host A --host B

To a run it is one system: which server answers is no part of a request, so a trial goes to whichever has most room.
A server that is gone is left out, and so is one that only fails while others answer: it has room at once again, and
took 184 of 192 trials before. The run ends with the last.
"""
from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from benchkit.basics.errors import EnvironmentFailure, TrialError, Unusable
from benchkit.basics.fields import differences
from benchkit.basics.json_text import canonical
from benchkit.basics.values import JSON, Reply, Request
from benchkit.network.address import DEFAULT_PORT, Address, address_of
from benchkit.systems.loading import load_system, split_name
from benchkit.systems.system import Loaded, System, SystemOptions

Made = TypeVar("Made")
GIVEN_AS = "--host"
SLICE_S = 0.1
"""So often a wait looks up, for a signal handler runs only between waits on some systems."""
MOST_FAILURES = 5
"""So many trials in a row may fail at a server while another answers."""
_FAILURES = ("Unreachable", "ServerBusy", "ServerError", "BrokenReply", "BadReply")
"""What speaks against the server; other errors are slow ones, or the model's and the prompt's."""
HOSTS = "hosts"
"""The key of an environment that names the servers; a single one is not named so."""


@dataclass(slots=True)
class Place:
    """A server: its address, the system that asks it, how many trials are under way, and how many failed in a row."""

    address: Address
    system: System
    under_way: int = 0
    failures: int = 0
    is_gone: bool = False

    @property
    def url(self) -> str:
        """For a person, without user name and password."""
        return self.address.url

    def naming(self, sentence: str) -> str:
        """A sentence about this server that says so."""
        return sentence if self.url in sentence else f"{self.url}: {sentence}"


class SeveralHosts:
    """A system on several servers; see `System` for what each call does."""

    def __init__(self, places: Sequence[Place], at_each: int, say: Callable[[str], None]) -> None:
        self._places, self._at_each, self._say = tuple(places), at_each, say
        self._lock = threading.Lock()

    def open(self) -> Mapping[str, JSON]:
        """Reach every server, and check that all serve the same. Raises EnvironmentFailure, naming the server."""
        environments = self._at_all(lambda system: system.open())
        told_apart = self._told_apart([place.system.settings() for place in self._places])
        if told_apart:
            raise EnvironmentFailure(
                f"the servers do not serve the same: {told_apart[0]}; serve one model at all of them, or leave one out"
            )
        # what a server says of its own address is no difference: the places are named below
        facts = [{key: value for key, value in one.items() if key != "host"} for one in environments]
        self._warn(facts)
        return {**_together(facts), HOSTS: [place.address.host_and_port for place in self._places]}

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request: the same at all of them, so no address is in it."""
        return self._places[0].system.settings()

    def warm(self) -> Loaded:
        """Load the model everywhere at once; the seconds are those of the slowest."""
        loaded = self._at_all(lambda system: system.warm())
        self._warn([{"context_length": one.context_length} for one in loaded])
        lengths = [one.context_length for one in loaded if one.context_length is not None]
        return Loaded(max(one.load_s for one in loaded), min(lengths, default=None), loaded[0].details)

    def answer(self, request: Request) -> Reply:
        """One whole reply, from the server with most room. An error stops the run only where no server is left for it.

        Raises TrialError, Interrupted.
        """
        place = self._take()
        try:
            reply = place.system.answer(request)
            place.failures = 0
            return reply
        except TrialError as error:
            if error.stops is not None:
                error.stops = self._stopping(place, error.type, error.stops)
            elif error.type in _FAILURES:
                self._failed(place, error.type)
            raise
        finally:
            with self._lock:
                place.under_way -= 1

    def close(self) -> None:
        """Let go of all of them."""
        with ExitStack() as stack:
            for place in self._places:
                stack.callback(place.system.close)

    def lanes(self) -> int:
        """How many trials may be under way now: so many at each server, and what still waits for one that is gone."""
        with self._lock:
            return sum(place.under_way if place.is_gone else self._at_each for place in self._places)

    def _take(self) -> Place:
        with self._lock:
            # no server is left only for a trial that had started when the last one went: it meets its end there
            place = min(self._there() or self._places, key=lambda place: place.under_way)
            place.under_way += 1
            return place

    def _there(self) -> list[Place]:
        return [place for place in self._places if not place.is_gone]

    def _stopping(self, place: Place, error_type: str, sentence: str) -> str | None:
        """The sentence that stops the run; None where others go on in place of a server that is gone."""
        if error_type != "Unreachable":
            return place.naming(sentence)
        return None if self._leave_out(place, "is gone") else place.naming(sentence)

    def _failed(self, place: Place, error_type: str) -> None:
        """Count a trial that failed at a server; one that only fails is left out while another answers."""
        with self._lock:
            place.failures += 1
            others_answer = any(not one.failures for one in self._there() if one is not place)
        if place.failures >= MOST_FAILURES and others_answer:
            self._leave_out(place, f"failed {MOST_FAILURES} trials in a row (the last: {error_type})")

    def _leave_out(self, place: Place, why: str) -> bool:
        """Start no more trials at a server, and say so once; whether others are left."""
        with self._lock:
            is_news, place.is_gone = not place.is_gone, True
            left = ", ".join(one.url for one in self._there())
        if left and is_news:
            self._say(f"{place.url} {why}; the run goes on without it, at {left}; add --retry-errors later for the "
                      f"trials that were lost there")
        return bool(left)

    def _at_all(self, call: Callable[[System], Made]) -> list[Made]:
        """What every server's system gives, asked at once. Raises the error of the first of them that cannot."""
        from concurrent.futures import ThreadPoolExecutor, wait

        with ThreadPoolExecutor(len(self._places)) as pool:
            asked = [pool.submit(_called, place, call) for place in self._places]
            while wait(asked, SLICE_S).not_done:
                continue
        ready = ", ".join(place.url for place, one in zip(self._places, asked, strict=True) if not one.exception())
        try:
            return [one.result() for one in asked]
        except EnvironmentFailure as error:
            raise type(error)(f"{error}{f' (or leave it out; ready: {ready})' if ready else ''}") from error

    def _told_apart(self, facts: Sequence[Mapping[str, JSON]]) -> list[str]:
        """In what the servers differ from the first, one text for each that does."""
        first, before = self._places[0], facts[0]
        texts = []
        for place, now in zip(self._places[1:], facts[1:], strict=True):
            found = [f"{one.place} is {one.one} at {first.url} and {one.other} at {place.url}"
                     for one in differences(before, now)]
            texts += ["; ".join(found)] if found else []
        return texts

    def _warn(self, facts: Sequence[Mapping[str, JSON]]) -> None:
        for text in self._told_apart(facts):
            self._say(f"the servers differ: {text.replace('_', ' ')}; texts may differ, too")


def on_several_hosts(
    name: str, options: SystemOptions, folders: Sequence[Path], hosts: Sequence[str], at_each: int,
) -> SeveralHosts:
    """The system of that name at each host, not opened yet. Raises Unusable, also for a host that is given twice."""
    addresses = [address_of(host, GIVEN_AS, _default_port(name)) for host in hosts]
    url, times = Counter(map(_server, addresses)).most_common(1)[0]
    if times > 1:
        raise Unusable(f"{GIVEN_AS}: {url} is given {times} times; give each server once")
    around = replace(options, say=_once(options.say))
    return SeveralHosts([Place(address, load_system(name, replace(around, host=host), folders))
                         for address, host in zip(addresses, hosts, strict=True)], at_each, around.say)


def _default_port(name: str) -> int:
    if split_name(name)[0] != "openai":
        return DEFAULT_PORT
    from benchkit.systems.openai import DEFAULT_PORT as OPENAI_PORT
    return OPENAI_PORT


def _server(address: Address) -> str:
    """A server by its address, however that is written."""
    host = "127.0.0.1" if address.host == "localhost" else _one_spelling(address.host)
    return replace(address, host=host, prefix=address.prefix.removesuffix("/v1")).url


def _one_spelling(host: str) -> str:
    """A numeric host in its shortest form, an IPv4 address within an IPv6 one as itself; a name as it is."""
    from ipaddress import ip_address

    try:
        found = ip_address(host)
    except ValueError:
        return host
    return str(getattr(found, "ipv4_mapped", None) or found)


def _called(place: Place, call: Callable[[System], Made]) -> Made:
    try:
        return call(place.system)
    except (EnvironmentFailure, Unusable) as error:
        raise type(error)(place.naming(str(error))) from error


def _together(environments: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
    """The environments of all servers as one: where they differ, all that they say, as a text."""
    keys = dict.fromkeys(key for one in environments for key in one)
    return {key: _one_or_all([one.get(key) for one in environments]) for key in keys}


def _one_or_all(values: Sequence[JSON]) -> JSON:
    if len({canonical(value) for value in values}) == 1:
        return values[0]
    return ", ".join(dict.fromkeys("unknown" if value is None else str(value) for value in values))


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    """What several servers say alike, a person is told once."""
    said: set[str] = set()

    def say_once(line: str) -> None:
        if line not in said:
            said.add(line)
            say(line)
    return say_once
