"""`unseen doctor`: what a report of a fault needs, and what may be wrong on this machine."""

import json as json_module
from dataclasses import asdict
from pathlib import Path

from unseen.commands.output import AsJson, RunsDir, emit


def doctor(*, runs_dir: RunsDir = Path("runs"), json: AsJson = False) -> int:
    # not above: help needs none of it
    from unseen.commands.examination import examine
    from unseen.runs.environment import current_environment

    environment = {name: said for name, said in current_environment().items() if name != "host"}
    findings = [*examine(runs_dir)]
    troubles = [each for each in findings if each.is_trouble]
    if json:
        found = {"environment": environment, "findings": [asdict(each) for each in findings]}
        emit(json_module.dumps(found, indent=2))
        return 1 if troubles else 0
    width = max(map(len, [*environment, *(each.about for each in findings)]))
    for name, said in environment.items():
        emit(f"  {name:<{width}}  {said}")
    for each in findings:
        emit(f"{'!' if each.is_trouble else ' '} {each.about:<{width}}  {each.found}")
        if each.is_trouble:
            emit(f"  {'':<{width}}  → {each.remedy}")
    count = {0: "No trouble found.", 1: "1 trouble found."}
    emit(count.get(len(troubles), f"{len(troubles)} troubles found."))
    return 1 if troubles else 0
