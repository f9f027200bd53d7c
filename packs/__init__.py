'''Question packs: each makes questions for boards, and judges the answers.

A pack is a package `packs/<name>/`, `<name>` made of [a-z0-9_]. It imports the standard library, itself and
the public names of `benchkit`; nothing in `benchkit` knows what a pack is about. This is all that a board asks of it:

    NAME, VERSION, JUDGE_VERSION   texts of one line; VERSION is of the world, JUDGE_VERSION of the scoring
    SYNTHETIC                      one line that stands wherever a question is shown; None if all is real
    JUDGE_MODULE, JUDGE_HELPERS    the module of the judges; those in which a change touches every track
    build(seed, count, llm=None)   list of benchkit.Case, the same for a seed on every Python;
                                   `llm` (prompt -> text, cached by whoever passes it) may only reword
    truth_terms(case)              texts that, however cased, must stand in nothing a solver is shown
    problems(case)                 why this question must not be asked, a line each; raises for no case
    answer_key(case)               the question's answer as one word: what "too many of one answer" counts
    said_key(answer)               the same word of what a solver said; "unreadable" if it said none
    payload(case, geometry="single")
                                   JSON, exactly what a solver is handed in this geometry, never the truth:
                                   an object with at least `now` and `observations`, each of these {"id",
                                   "minute" (from now, 0 or less), "at", "kind", "service", "text"}
    messages(view, budget=None, steps=None)
                                   the first messages, made of a payload; the limits are those of `gated`,
                                   None for the ones in prices.toml
    schema(view)                   the JSON schema of one message of the solver, or None
    prices()                       `.unit`, `.budget`, `.steps`, `.prices` {name: cost}, from prices.toml
    tools(case)                    the menu, each with `.name`, `.says`, `.price`, `.kinds`, `.services`
                                   (those it may be asked for; empty: it takes none)
    turn(case, said, steps, left)  what one message amounts to: `.kind` ("answer", "bought", "refused",
                                   "unreadable"), `.tool`, `.observations` (JSON), `.cost`, `.grounded`,
                                   `.error`
    reply(turn, left, steps_left)  the text of the user message that follows
    tracks                         the judges: `.name`, `.kind` ("capability" or "gate"), `.measures` and
                                   `.measures_not` (a sentence each), `.judge(case, answer, steps)`
    baselines()                    {name: {"answer": function(view, seed, messages) -> text,
                                   "sees_truth": bool}}

**Judges.** A capability is a float from 0 to 1, a gate a bool: True, it held. A judge is pure and raises
for no text. `answer` is the solver's last message as received, "" included; `steps` are values with the
attributes `said`, `observations`, `cost`, `grounded`, `error`. The first step is what the solver was
handed: `said` None, `observations` those of the payload. In `single` it is the only one. In `gated` one
more stands for each message before the last: the message verbatim, and what `turn` gave for it. So steps
follow from case and trace alone.

**The game of `gated`**, for one cell:

    view = payload(case, "gated"); talk = messages(view, budget, most); left = budget
    steps = [what was handed]
    for steps_left in most - 1, most - 2, ..., 0:
        said = the solver's text for talk               (a baseline is called as answer(view, seed, talk))
        if steps_left == 0: it is the answer, whatever it is   (a purchase that comes last is not made)
        done = turn(case, said, steps, left)
        if done.kind == "answer": it is the answer
        left -= done.cost
        steps += (said, done.observations, done.cost, done.grounded, done.error)
        talk += {"assistant": said}, {"user": reply(done, left, steps_left)}

Every message costs a step. One that is `unreadable` or `refused` (not sold, or dearer than what is left)
costs no budget. `grounded` says that a purchase asked for something that had been seen.

Before anybody is asked the whole menu is bought and looked at for the truth, with the message {"buy": name} or
{"buy": name, "service": service}, the bare name, or "buy name". A pack in which none of these buys has one
function more, `purchase(tool, service)`: the message that buys a tool, of one of its services or None.

**Baselines** are handed `payload(case, geometry)` as view; those with `sees_truth` the whole case.

**Leaks** are looked for in what a solver is shown, never in what it says: a right answer holds its truth.

**Order.** Lists stand where an order is meant, so that a case written as canonical JSON and read again
makes the same messages.
'''
