"""One byte of a finished log is another one: it is never accepted silently.

Either the log is refused with the place, and stays as it is; or the line is set aside and its trial runs again.
"""
from __future__ import annotations

from benchkit.basics.errors import Unusable
from tests.faults.cut import Sound, sound_log
from tests.faults.found import NOTHING, Found, Part, Turn, holds
from tests.faults.oracle import as_wanted, grown
from tests.faults.small import put, record_on

FLIPS_A_TURN = 40


def alter(turn: Turn) -> Found:
    """Many times one byte at a random place, to a random other value; sometimes to a newline."""
    sound, found = sound_log(turn.folder), NOTHING
    for _ in range(FLIPS_A_TURN):
        at = turn.dice.randrange(len(sound.data))
        byte = 10 if turn.dice.random() < 0.1 else turn.dice.randrange(256)
        if byte != sound.data[at]:
            found += _altered(sound, sound.data[:at] + bytes([byte]) + sound.data[at + 1:], f"byte {at} is {byte}")
    return found


def _altered(sound: Sound, data: bytes, when: str) -> Found:
    put(sound.path, data)
    try:
        record_on(sound.path)
    except Unusable as refused:
        problems = holds("(byte " in str(refused) and "--accept-damage" in str(refused), f"{when}: {refused}")
        return Found(1, 0, problems + holds(sound.path.read_bytes() == data, f"{when}: refused, and yet written"))
    after = sound.path.read_bytes()
    # a log without a whole session line is begun anew behind what it holds
    counts = after if data.startswith(sound.data[:sound.data.index(b"\n") + 1]) else after[len(data):]
    return Found(1, 0, (*grown(data, after, when), *as_wanted(sound.wanted, counts, when)))


ALTERED = Part("altered lines", "one byte of a log is another one", lambda rounds: rounds, alter)
