"""What a study costs beyond its folds: seconds a fold, and the client's memory.

python benchmarks/studies.py [--folds 1000] [--engine local|dask] [--jobs 2]

The folds are those of the baseline `mean`, which takes no training; what is counted is the time
of all slots minus the seconds that the folds themselves took.
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from unseen.runs.local_workers import LocalWorkers, Workers
from unseen.studies.results import TidyFile
from unseen.studies.study import read_study
from unseen.studies.sweep import StudyFold, plan_study, sweep

STUDY = """\
preset = "mean"
[settings]
samples = 1
test-samples = 1
[vary]
seed = [{seeds}]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=1000)
    parser.add_argument("--engine", choices=["local", "dask"], default="local")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), asked.folds, asked.engine, asked.jobs)


def measure(folder: Path, folds: int, engine_name: str, jobs: int) -> None:
    path, runs = folder / "tiny.toml", folder / "runs"
    path.write_text(STUDY.format(seeds=", ".join(map(str, range(folds // 10)))))
    plan = plan_study(read_study(path), runs)
    file, memory, work = TidyFile(folder / "tiny.csv"), list[int](), 0.0
    with engine_of(engine_name, runs, jobs) as engine:
        warm_up(engine)
        started = time.perf_counter()
        for event in sweep(plan, engine):
            if isinstance(event, StudyFold) and event.result is not None:
                file.add(event)
                work += event.result.seconds
                memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        seconds, slots = time.perf_counter() - started, engine.slots
    beyond = (seconds * slots - work) / len(memory)
    print(
        f"{engine_name}: {len(memory)} folds in {seconds:.1f} s with {slots} slots; a fold "
        f"{1000 * work / len(memory):.0f} ms, {1000 * beyond:.0f} ms beyond it; the client's "
        f"memory at most {memory[len(memory) // 10] // 1024} MB after a tenth, "
        f"{memory[-1] // 1024} MB at the end; load {os.getloadavg()[0]:.1f}"
    )


def warm_up(engine: Workers) -> None:
    """Have every worker load torch and unpack symbols, which it does once."""
    for begun in [engine.submit(int) for _ in range(2 * engine.slots)]:
        begun.result()


def engine_of(name: str, runs: Path, jobs: int) -> Workers:
    if name == "local":
        return LocalWorkers(jobs, "mnist")
    from unseen.runs.dask_workers import DaskWorkers

    return DaskWorkers(runs, jobs=jobs)


if __name__ == "__main__":
    main()
