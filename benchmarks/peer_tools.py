"""This kit and two peers, as the benchmark of peers needs them: the files of the task, the command, the count.

All three are asked the same: CASES questions, k trials of each, answered at once by the same text, judged by equality.
Each tool runs as it comes, but for what would leave the machine.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchkit.basics.texts import shown_line
from benchmarks.measuring import ROOT

KIT = "this kit"
ANSWER = "The answer is always the same."
KIT_TASK = '''"""One answer is right."""
NAME, VERSION = "same-answer", "1"


def messages(case):
    return [{"role": "user", "content": case.input}]


def schema():
    return None


def check(case, output):
    return {"right": output == case.expected}
'''
# without usage the mock model counts tokens, for which it loads a vocabulary from the network
INSPECT_TASK = f'''from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate


def answer(input, tools, tool_choice, config):
    output = ModelOutput.from_content(model="mockllm", content={ANSWER!r})
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


@task
def same_answer():
    return Task(dataset=json_dataset("samples.json"), solver=generate(), scorer=match(location="exact"),
                model=get_model("mockllm/model", custom_outputs=answer))
'''
PROMPTFOO_PROVIDER = f'''module.exports = class {{
  id() {{ return "same-answer"; }}
  async callApi() {{ return {{ output: {json.dumps(ANSWER)} }}; }}
}};
'''
SETTINGS = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    # promptfoo says once to its makers that telemetry is off; a proxy that is not there keeps even that here
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
}


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that can run the task.

    `files` gives the files of a run over so many cases, `run` the command of so many trials of each (both for a folder
    of the run's own), `right` how many trials it judged right there; `right` raises RuntimeError where it cannot say.
    """

    name: str
    does: str
    version: tuple[str, ...]
    files: Callable[[int], Mapping[str, str]]
    run: Callable[[int], tuple[str, ...]]
    right: Callable[[Path], int]


def question(number: int) -> str:
    """What is asked: a prompt of some 250 characters."""
    return f"Question {number}: " + "what is always the same? " * 10


def alone(command: Sequence[str], home: Path) -> list[str]:
    """The command with a home of its own and none of the caller's variables but PATH: no keys, no settings."""
    kept = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), **SETTINGS}
    return ["env", "-i", *(f"{key}={value}" for key, value in kept.items()), *command]


def said(command: Sequence[str], folder: Path) -> str:
    """What a command prints. Raises RuntimeError with its last line if it fails."""
    ended = subprocess.run(list(command), cwd=folder, check=False, capture_output=True, stdin=subprocess.DEVNULL,
                           encoding="utf-8", errors="replace")
    if ended.returncode:
        raise RuntimeError(f"exit code {ended.returncode}: {last_line(ended.stderr or ended.stdout)}")
    return ended.stdout


def last_line(text: str) -> str:
    """The last line that is not blank, with nothing in it that a terminal would act on."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shown_line(lines[-1]) if lines else "it said nothing"


def kit(at_once: int = 1) -> Tool:
    """This kit, with a baseline that always says the right answer of the first case."""
    bench = (sys.executable, str(ROOT / "bench.py"))
    words = ("--system", "baselines:constant", "--task", "same_answer", "--cases", "cases.json")
    one = "each trial is written to its log and synced to the disk before the next one starts"
    many = f"{at_once} trials under way; what ended meanwhile is written to its log together, with one sync"
    return Tool(
        name=KIT if at_once == 1 else f"{KIT}, --parallel {at_once}",
        does=(one if at_once == 1 else many) + "; then the recording is made, all is judged, and the report begins",
        version=(*bench, "--version"),
        files=_kit_files,
        run=lambda trials: (*bench, *words, "--parallel", str(at_once), "--trials", str(trials)),
        right=lambda folder: kit_right((folder / "recorded" / "constant.json").read_text(encoding="utf-8")),
    )


def _kit_files(cases: int) -> dict[str, str]:
    asked = [{"id": f"case-{number:03}", "split": "development", "input": question(number), "expected": ANSWER,
              "tags": []} for number in range(1, cases + 1)]
    return {"same_answer.py": KIT_TASK, "cases.json": json.dumps({"cases": asked})}


def kit_right(recording: str) -> int:
    """How many answers of a recording are right."""
    return sum(trial.get("output") == ANSWER for case in json.loads(recording)["cases"] for trial in case["trials"])


def inspect_ai(python: str) -> Tool:
    """Inspect AI, with its mock model; `python` is one that has the package `inspect-ai`."""
    cli = (python, "-m", "inspect_ai")
    return Tool(
        name="Inspect AI",
        does="tens of trials under way; their events go into an SQLite buffer that is not synced, its log file is "
             "written again every 10 trials (from 1,000 trials on: 20 times in all) and synced once, at the end",
        version=(*cli, "--version"),
        files=lambda cases: {"same_answer.py": INSPECT_TASK, "samples.json": json.dumps(
            [{"id": f"case-{number:03}", "input": question(number), "target": ANSWER}
             for number in range(1, cases + 1)])},
        run=lambda trials: (*cli, "eval", "same_answer.py", "--epochs", str(trials), "--display", "none", "--log-dir",
                            "logs"),
        right=partial(_inspect_right_in, cli),
    )


def _inspect_right_in(cli: Sequence[str], folder: Path) -> int:
    logs = sorted(str(path) for path in (folder / "logs").glob("*.eval"))
    if not logs:
        raise RuntimeError("it left no log")
    return inspect_right(said(alone([*cli, "log", "dump", "--header-only", logs[-1]], folder.parent / "home"), folder))


def inspect_right(header: str) -> int:
    """How many trials a log header of Inspect AI says were right. Raises RuntimeError with the error it names.

    The exit code says nothing of it: an evaluation that failed ends with 0, too.
    """
    log = json.loads(header)
    if log["status"] != "success":
        raise RuntimeError(last_line((log.get("error") or {}).get("message", log["status"])))
    accuracy: float = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    completed: int = log["results"]["completed_samples"]
    return round(accuracy * completed)


def promptfoo(program: str) -> Tool:
    """Promptfoo, with a provider of a few lines; without its table, over which 0.121 crashes on an old Node.js."""
    return Tool(
        name="promptfoo",
        does="4 trials under way; each result goes into its SQLite database, with about one sync a trial; then all "
             "results are written to a JSON file, and how many passed is printed",
        version=(program, "--version"),
        files=lambda cases: {"same_answer.js": PROMPTFOO_PROVIDER, "config.json": json.dumps({
            "prompts": ["{{question}}"], "providers": ["file://same_answer.js"],
            "defaultTest": {"assert": [{"type": "equals", "value": ANSWER}]},
            "tests": [{"vars": {"question": question(number)}} for number in range(1, cases + 1)]})},
        run=lambda trials: (program, "eval", "--config", "config.json", "--repeat", str(trials), "--no-cache",
                            "--no-share", "--no-table", "--output", "results.json"),
        right=lambda folder: promptfoo_right((folder / "results.json").read_text(encoding="utf-8")),
    )


def promptfoo_right(results: str) -> int:
    """How many trials a results file of promptfoo says were right."""
    return int(json.loads(results)["results"]["stats"]["successes"])
