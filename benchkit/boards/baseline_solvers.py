"""The baselines of a pack as systems: solvers without a model, called once a message.

What does not live here: the functions themselves (the pack), and what they are worth (standings).
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchkit.basics.errors import TrialError, Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.boards.pack import Baseline, Pack
from benchkit.systems.system import Loaded


@dataclass(frozen=True, slots=True)
class BaselineSolver:
    """A baseline as a System. It is handed the payload, or the whole case where the pack lets it see the truth."""

    baseline: Baseline
    cases: Mapping[str, Case]
    geometry: str

    def open(self) -> Mapping[str, JSON]:
        """No server."""
        return {"server": None, "server_version": None}

    def settings(self) -> Mapping[str, JSON]:
        """The digest of the function's source text: another rule is another system."""
        return {"baseline_sha256": self.baseline.source_sha256}

    def warm(self) -> Loaded:
        """Nothing to load."""
        return Loaded(load_s=0.0)

    def answer(self, request: Request) -> Reply:
        """The function's text for the conversation so far. An exception in it is a ServerError of this trial."""
        try:
            handed = self.baseline.handed(self.cases[request.case], self.geometry)
            text = self.baseline.answer(handed, request.seed, request.messages)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise TrialError("ServerError", f"the baseline raised {type(error).__name__}") from error
        if not isinstance(text, str):
            raise TrialError("BadReply", f"the baseline gave {type(text).__name__}, not text")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise TrialError("BadReply", "the baseline gave a text with a lone surrogate")
        return Reply(output=text)

    def close(self) -> None:
        """Nothing to let go of."""


def baseline_solver(pack: Pack, name: str, cases: Iterable[Case], geometry: str) -> BaselineSolver:
    """The pack's baseline of that name (without `baselines:`). Raises Unusable with the list."""
    if name not in pack.baselines:
        known = ", ".join(sorted(pack.baselines)) or "none"
        raise Unusable(f"baselines:{shown_line(name, 60)}: pack {pack.module} has no such baseline; there are {known}")
    return BaselineSolver(pack.baselines[name], {case.id: case for case in cases}, geometry)
