"""Is a number even?"""
NAME, VERSION = "Parity", "1"


def messages(case):
    return [{"role": "user", "content": f"Is {case.input} even? yes or no"}]


def schema():
    return None


def check(case, output):
    return {"short": len(output) < 5, "right": output == case.expected}


def explain(case, output):
    return {"short": f"{len(output)} letters", "right": f"expected {case.expected}, got {output[:20]}"}


def baselines():
    return {"always": lambda case, seed: "yes", "label": lambda case, seed: case.expected}


SEES_LABELS = ("label",)
