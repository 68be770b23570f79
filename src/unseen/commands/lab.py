"""`unseen lab`: a page to choose, watch and try."""

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.commands.output import RunsDir, emit, say
from unseen.commands.parameters import WHOLE


def lab(
    run: Annotated[
        str | None, Parameter(help="A run to open: its folder, its name or the beginning of it.")
    ] = None,
    /,
    *,
    symbols: Annotated[
        Path | None, Parameter(help="A folder of four IDX files, to choose beside the known sets.")
    ] = None,
    model: Annotated[
        str | None, Parameter(help="A network of your own to choose, as file.py:Class.")
    ] = None,
    port: Annotated[
        int | None, WHOLE, Parameter(help="Port; by default the first free one from 8150 on.")
    ] = None,
    host: Annotated[
        str | None,
        Parameter(
            help="Address to listen on, for other machines; by default this machine alone. "
            "Everyone with the printed address can then use the lab."
        ),
    ] = None,
    open: Annotated[bool, Parameter(help="Open the page in a browser [yes]")] = True,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    from unseen.lab import serve  # and with it starlette and matplotlib
    from unseen.lab.choices import Choices

    first_run, runs_dir = serve.find_first_run(run, runs_dir)
    choices = Choices.of(symbols, model)
    address = serve.find_address(host, port)

    def ready() -> None:
        emit(f"The lab is at {address.url} (Ctrl-C ends it)")
        if address.policy.token is not None:
            say(
                "warning: other machines can reach this lab. Everyone with the address and its "
                "token can train networks here; nothing is encrypted on the way."
            )
        if open:
            threading.Thread(target=webbrowser.open, args=(address.url,), daemon=True).start()

    serve.serve(runs_dir.absolute(), address, choices, first_run, say=say, ready=ready)
