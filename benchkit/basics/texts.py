"""Texts that people read: names made visible and safe, counts and lists in words, shares in percent, UTF-8 files.

A share is printed with one digit, a difference of shares in percentage points, by one rule for all outputs.
"""
from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable
from fractions import Fraction

MOST_NAMED = 5
"""So many names stand in a sentence; the rest is counted."""
_PLAIN = re.compile(r"[a-z0-9._-]{1,100}")
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_SLUG = re.compile(r"x-.*-[0-9a-f]{12}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
# C0 except newline and tab, DEL, C1, what turns the reading direction, and what is no character
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

# Default_Ignorable_Code_Point of Unicode 16, annotation marks, a blank of Braille, private use and what is no
# character; by number, for every Python has another version of Unicode
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\ue000-\uf8ff\ufdd0-\ufdef\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U0010ffff]")
# what joins and varies letters has a use in Persian, Hindi and emoji
_JOINING = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def unseen_in(text: str) -> str | None:
    """The first letter that nobody sees, or that has no meaning, as `U+200B`; None without any.

    Joiners and variation selectors are none: `alike` leaves them out.
    """
    found = _UNSEEN.search(text)
    return None if found is None else f"U+{ord(found.group()):04X}"


def shown(text: str) -> str:
    r"""The text with control characters shown (`\x1b`), so that a terminal is never sent them."""
    # most texts are plain ones
    return text if text.isascii() and text.isprintable() else _UNSHOWN.sub(_escape, text)


def shown_line(text: str, most: int = 200) -> str:
    """The text on one line of at most `most` characters, control characters shown."""
    # no letter becomes less than one, so no more of them are needed
    line = shown(text[:most + 1]).replace("\n", "\\n").replace("\t", "\\t")
    return line if len(line) <= most else line[: most - 3] + "..."


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def same_model(asked: str, answered: str) -> bool:
    """Whether two names are one model's: folders, `:latest` and upper case are no part of a name, nor is a variant.

    A variant is what stands behind a colon in the name that was asked for: `x/y:free` is answered by `x/y`.
    """
    return _model_name(answered) in {_model_name(asked), _model_name(asked.rpartition(":")[0])}


def _model_name(name: str) -> str:
    return re.split(r"[/\\]", name)[-1].casefold().removesuffix(":latest")


def names_of(names: Iterable[str], most: int = MOST_NAMED, letters: int = 60) -> str:
    """The first few names, and how many more."""
    shortened = [shown_line(name, letters) for name in names]
    more = len(shortened) - most
    return ", ".join(shortened[:most]) + (f" and {more} more" if more > 0 else "")


def cases_named(ids: Collection[str]) -> str:
    """`case a`, `cases a, b`: the first few of some cases, and how many more."""
    return f"{'case' if len(ids) == 1 else 'cases'} {names_of(ids)}"


def alike(name: str) -> str:
    """What two names have in common that look alike: they differ in case, Unicode normal form or joiners only."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _JOINING.sub("", name)).casefold())


def first_alike(names: Iterable[str]) -> tuple[int, int, str] | None:
    """The first name that looks like one before it: both their numbers, and `, but for case` where that is so.

    None where all can be told apart.
    """
    seen: dict[str, tuple[int, str]] = {}
    for number, name in enumerate(names):
        first, other = seen.setdefault(alike(name), (number, name))
        if first != number:
            how = "the way its letters are encoded (Unicode normal form)"
            if name.casefold() == other.casefold():
                how = "case"
            elif _JOINING.sub("", name) == _JOINING.sub("", other):
                how = "joiners and variation selectors, which nobody sees"
            return number, first, "" if name == other else f", but for {how}"
    return None


def count_of(number: int, one: str, many: str | None = None) -> str:
    """`1 case`, `2 cases`, `30,000 trials`."""
    return f"{number:,} {word_for(number, one, many)}"


def word_for(number: int, one: str, many: str | None = None) -> str:
    """The word behind a number that stands already: `3 of 1 case`, `0 of 2 cases`."""
    return one if number == 1 else many or one + "s"


def verb_for(number: int, total: int, one: str, many: str) -> str:
    """The verb behind so many of a total: `1 of 3 cases differs`, `0 of 1 case differs`, `2 of 3 cases differ`."""
    return one if 1 in (number, total) else many


def all_of(number: int, one: str) -> str:
    """`the one case`, `all 3 cases`."""
    return f"the one {one}" if number == 1 else f"all {count_of(number, one)}"


def are(number: int) -> str:
    """The verb behind a count."""
    return "is" if number == 1 else "are"


def sentence(text: str) -> str:
    """The kit's own words with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def file_stem(name: str) -> str:
    """A file name (without suffix) for an untrusted name: itself if plain, else `x-<slug of 40>-<12 hex>`.

    Plain is `[a-z0-9._-]`, not reserved on Windows, neither begins nor ends with a dot, and is none of the others.
    """
    if _PLAIN.fullmatch(name) and not (_RESERVED.fullmatch(name) or _SLUG.fullmatch(name) or name.strip(".") != name):
        return name
    slug = _NOT_PLAIN.sub("-", name.lower()).strip("-")[:40]
    return f"x-{slug}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


NOT_AVAILABLE = "n/a"
MOST_DIGITS = 9
"""Behind the point, where a limit is so near."""


def percent(value: Fraction | float | None, limit: Fraction | float | None = None) -> str:
    """A share as percent with one digit, ties to even: `68.3`. Only a share of 1 reads 100.0, only 0 reads 0.0.

    What would be rounded to them reads `<0.1` and `>99.9`. Beside a `limit` it has as many digits as it takes to stand
    on the same side of it.
    """
    if value is None:
        return NOT_AVAILABLE
    text = _rounded(value, limit)
    if value > 0 and not float(text):
        return "<0.1"
    return ">99.9" if value < 1 and float(text) == 100 else text


def percent_in_words(value: Fraction | float) -> str:
    """A share in a sentence: `68.3 %`, `less than 0.1 %`, `more than 99.9 %`."""
    return f"{percent(value)} %".replace("<", "less than ").replace(">", "more than ")


def points(value: Fraction | float | None, limit: Fraction | float | None = None) -> str:
    """A difference of shares in percentage points, with its sign: `+3.3`, `-0.1`; beside a `limit` as distance().

    Only a difference of 0 reads 0.0, and only one of 1 reads 100.0: all others have some, but not all, of the tenths.
    """
    if value is None:
        return NOT_AVAILABLE
    sign = "-" if value < 0 else "+" if value > 0 else ""
    return sign + distance(-value if value < 0 else value, limit)


def distance(value: Fraction | float, limit: Fraction | float | None = None) -> str:
    """A difference of shares in percentage points, without a sign: `3.3`; beside a `limit` as percent() has it."""
    text = _rounded(value, limit)
    if 0 < value < 1 and float(text) in (0, 100):
        return "0.1" if value < Fraction(1, 2) else "99.9"
    return text


def as_given(value: Fraction | float) -> str:
    """A limit that somebody set, in percent with all its digits: `5.0`, `0.04`."""
    text = f"{float(_exact(value) * 100):.12g}"
    return text if set(".e") & set(text) else f"{text}.0"


def _rounded(value: Fraction | float, limit: Fraction | float | None) -> str:
    share, digits = Fraction(value) if limit is None else _exact(value), 1
    while limit is not None and digits < MOST_DIGITS and (
            _side(round(share * 100, digits) / 100, limit) != _side(share, limit)):
        digits += 1
    whole, rest = divmod(round(share * (100 * 10**digits)), 10**digits)
    return f"{whole}.{rest:0{digits}}"


def _exact(value: Fraction | float) -> Fraction:
    # a limit is a number that somebody typed: 0.7, and not the binary fraction next to it
    return Fraction(repr(value)) if isinstance(value, float) else value


def _side(value: Fraction, limit: Fraction | float) -> int:
    return (value > _exact(limit)) - (value < _exact(limit))


MARK = b"\xef\xbb\xbf"
CRLF = "its line ends are CRLF: it was copied as text; copy it as it is, or turn them back"
"""Of a file whose bytes are summed: a copy or a checkout has changed them, and nothing of it is lost."""
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:[\t\n\r -~]\x00){2}|(?:\x00[\t\n\r -~]){2}")


def encoding_fault(data: bytes) -> str | None:
    """Why the bytes at the beginning of a text are not UTF-8 as it should be, and what to do; None: nothing is seen."""
    if data.startswith(MARK):
        return "it begins with a byte order mark; save it as UTF-8 without one"
    if _UTF_16.match(data):
        return "it is UTF-16; save it as UTF-8"
    return None


def decoded(data: bytes) -> str:
    """The text. Raises ValueError with what is wrong with its bytes."""
    fault = encoding_fault(data)
    if fault:
        raise ValueError(fault)
    return utf_8(data)


def utf_8(data: bytes) -> str:
    """The same for bytes whose beginning was looked at before."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start}") from None


def width_of(text: str) -> int:
    """How many columns a terminal gives a text: two for a wide letter, none for a mark on one."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def fitting(line: str, most: int) -> str:
    """As many letters from the start as fit into so many columns; at least one, so that a loop over the rest ends."""
    if line.isascii():
        return line[:max(most, 1)]
    used = 0
    for place, letter in enumerate(line):
        used += _width(letter)
        if used > most:
            return line[:max(place, 1)]
    return line
