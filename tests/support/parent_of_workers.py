"""Two workers that have long to do; the file `workers` says which processes they are."""

import time
from pathlib import Path

from unseen.files import write_whole
from unseen.runs.local_workers import LocalWorkers

if __name__ == "__main__":
    executor = LocalWorkers(2)
    tasks = [executor.submit(time.sleep, 60) for _ in range(2)]
    while not all(task.process for task in tasks):
        time.sleep(0.01)
    said = " ".join(str(task.process.pid) for task in tasks)
    write_whole(Path("workers"), said.encode())
    time.sleep(60)
