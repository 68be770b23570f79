"""Two workers that have long to do; the file `workers` says which processes they are."""

import time
from pathlib import Path

from unseen.files import write_whole
from unseen.runs.engine import LocalProcesses

if __name__ == "__main__":
    executor = LocalProcesses(2)
    tasks = [executor.submit(time.sleep, 60) for _ in range(2)]
    while len(executor._processes) < 2:
        time.sleep(0.01)
    said = " ".join(str(process.pid) for process in executor._processes)
    write_whole(Path("workers"), said.encode())
    time.sleep(60)
