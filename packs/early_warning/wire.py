"""Questions and truths <-> JSON: the only room that knows the fields of cases and payloads.

Lists, never mappings, where an order is meant: canonical JSON sorts keys.
What does not live here: which of them a solver sees (pages.py), and whether they make sense (emission.py).
"""
from __future__ import annotations

from collections.abc import Sequence

from benchkit import JSON, Case, Fields
from packs.early_warning.values import (
    INCIDENTS,
    KINDS,
    MENU,
    SEVERITIES,
    Observation,
    Question,
    Service,
    Step,
    Truth,
)


def observation_to_wire(one: Observation) -> dict[str, JSON]:
    """`{"id", "minute", "at", "kind", "service", "text"}`."""
    return {"id": one.id, "minute": one.minute, "at": one.at, "kind": one.kind, "service": one.service,
            "text": one.text}


def question_to_wire(question: Question) -> dict[str, JSON]:
    """`{"now", "services": [{"name", "entry", "needs"}], "observations": [...]}`."""
    return {
        "now": question.now,
        "services": [{"name": one.name, "entry": one.is_entry, "needs": list(one.needs)}
                     for one in question.services],
        "observations": [observation_to_wire(one) for one in question.observations],
    }


def truth_to_wire(truth: Truth) -> dict[str, JSON]:
    """`{"situation", "incident", "cause", "severity", "supports", "next", "due_minutes", "why", "later"}`."""
    return {
        "situation": truth.situation, "incident": truth.incident, "cause": truth.cause,
        "severity": truth.severity, "supports": list(truth.supports), "next": truth.next,
        "due_minutes": truth.due_minutes, "why": truth.why,
        "later": [observation_to_wire(one) for one in truth.later],
    }


def question_of(value: JSON) -> Question:
    """The question in a case's input, or in a payload. Raises ValueError with the field."""
    fields = Fields(value)
    return Question(fields.text("now"), tuple(_service(one) for one in fields.objects("services")),
                    tuple(_observation(one) for one in fields.objects("observations")))


def truth_of(case: Case) -> Truth:
    """The truth in a case's labels. Raises ValueError with the field."""
    fields = Fields(case.expected)
    return Truth(
        fields.text("situation"), fields.one_of("incident", INCIDENTS), fields.text("cause"),
        fields.one_of("severity", SEVERITIES), fields.texts("supports"), fields.one_of("next", MENU),
        fields.integer("due_minutes", least=1), fields.text("why"),
        tuple(_observation(one) for one in fields.objects("later")))


def seen_ids(steps: Sequence[Step]) -> frozenset[str]:
    """The ids of all observations a solver has been shown."""
    return frozenset(str(one["id"]) for step in steps for one in step.observations)


def _service(fields: Fields) -> Service:
    return Service(fields.text("name"), fields.boolean("entry"), fields.texts("needs"))


def _observation(fields: Fields) -> Observation:
    return Observation(fields.text("id"), fields.integer("minute", least=-24 * 60), fields.text("at"),
                       fields.one_of("kind", KINDS), fields.text("service"), fields.text("text"))
