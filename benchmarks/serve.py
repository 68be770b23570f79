"""How a side of the benchmark listens: one task a line on stdin, one answer a line on stdout.

So the two sides take turns while each keeps its own libraries loaded.
"""

import json
import resource
import sys
from typing import Any


def serve(side: Any, versions: dict[str, str]) -> None:
    """Say the versions, then do what is asked until nobody asks any more."""
    print(json.dumps(versions), flush=True)
    for line in sys.stdin:
        task, *numbers = json.loads(line)
        if task == "memory":
            # Linux tells it in units of 1,024 bytes
            answer = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        else:
            answer = getattr(side, task)(*numbers)
        print(json.dumps(answer), flush=True)
