"""Who answers: local models on an Ollama server, at temperature 1. Yours to change.

    --system model_triage:gemma          a short name of MODELS: pinned, refused if another digest is served
    --system model_triage:smollm2:135m   any installed tag: not pinned; its digest, as served, goes into the settings

Whatever changes a request (an option, a tag, a digest) changes the settings, and a log that was begun with other
settings says so. `python3 bench.py --system model_triage:gemma --dry-run` shows what would be run.
"""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchkit import OllamaSystem, SystemOptions

# short name -> (tag, digest): `ollama list` shows the first 12 digits, GET /api/tags all 64
MODELS = {
    "gemma": ("gemma4:e2b", "7fbdbf8f5e45a75bb122155ed546e765b4d9c53a1285f62fd9f506baa1c5a47e"),
    "qwen": ("qwen3.5:0.8b", "f3817196d142eaf72ce79dfebe53dcb20bd21da87ce13e138a8f8e10a866b3a4"),
}

# every option that matters is sent each time, for Ollama's defaults differ between versions and models
OPTIONS = {
    "temperature": 1.0,
    "top_k": 64,
    "top_p": 0.95,
    "min_p": 0.0,
    "repeat_penalty": 1.0,
    "num_ctx": 4096,     # room for a mail of 3,000 words
    "num_predict": 160,  # an answer has about 60 tokens; small models can run on for ever
}


def system(name: str, options: SystemOptions) -> OllamaSystem:
    """The model of a short name of MODELS, or of a full tag."""
    from benchkit import OllamaModel, OllamaSystem
    if name in MODELS:
        tag, digest = MODELS[name]
        return OllamaSystem(OllamaModel(tag, OPTIONS, digest, Path(__file__), __name__), options)
    return OllamaSystem(OllamaModel(name, OPTIONS, module=__name__), options)
