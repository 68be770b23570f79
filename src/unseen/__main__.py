"""`unseen` and `python -m unseen`."""

import os
import sys


def main() -> None:
    """Run the command; an interrupt or a closed pipe ends it quietly, from the first import on."""
    try:
        from unseen.cli import command

        code = command()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # whoever read our output has had enough
        code = 141
    try:
        sys.stdout.flush()
    except OSError:
        # what could not be written must not be tried again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


if __name__ == "__main__":
    main()
