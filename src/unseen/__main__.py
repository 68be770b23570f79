"""`unseen` and `python -m unseen`."""

import os
import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command; an interrupt or a closed pipe ends it quietly, from the first import on."""
    try:
        from unseen.streams import LossyStream, open_closed_streams

        open_closed_streams()
        from unseen.cli import command

        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # one that knows no × shows something for it
                stream.reconfigure(errors="replace")
        sys.stderr = LossyStream(sys.stderr)
        code = command()
    except KeyboardInterrupt as interrupt:
        os._exit(getattr(interrupt, "exit_code", 130))  # what still runs is not worth waiting for
    except BrokenPipeError:  # the reader of our output is gone
        code = 141
    leave(code)


def leave(code: int) -> None:
    """Exit; what could not be written is not tried again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


if __name__ == "__main__":
    main()
