"""The command line: commands by name, loaded when they are called, and faults for people."""

import os
import re
from typing import Annotated, Literal

import cyclopts
from cyclopts import App, Parameter

from unseen.commands.output import HelpConsole, emit, say
from unseen.errors import SettingError, UnseenError, is_out_of_memory, shortened

app = App(
    name="unseen",
    help="A network is shown some pairs of digits and only their sums. "
    "Does it get the pairs it has never seen?",
    help_format="plaintext",
    default_parameter=Parameter(show_default=False),  # help texts say it, where it is of use
    suppress_keyboard_interrupt=False,
    exit_on_error=False,
    print_error=False,
    result_action="return_value",
    console=HelpConsole(),
)
EXAMPLES = """\
Examples:
  unseen run                                        the preset fast, ten folds
  unseen run paper --folds 1 --epochs 2             two of its 100 epochs
  unseen run best --operation "max(a, b)" --seed 3  any setting can be changed

Defaults in [brackets] are those of the preset fast.
'unseen list' shows what can be chosen."""

# A command is loaded by its path when it is called, so that help needs neither numpy nor torch;
# its help is here alone.
COMMANDS = {
    "run": "Run an experiment, or finish one: its folds in parallel, then its tables.",
    "sweep": "Run a study: many runs that vary some settings; what is done is not run again.",
    "list": "List presets, operations, symbols, splits, networks, baselines and studies.",
    "runs": "List what was run, by any setting of `unseen run`; or remove runs.",
    "show": "Print the tables of a run again.",
    "predict": "Ask a run's networks what pictures of your own show.",
    "report": "Write a run as one HTML page, or as LaTeX, Markdown or CSV.",
    "export": "Write a run's networks for elsewhere, or with `export data` what they learn from.",
    "compare": "Compare runs of one problem, combination by combination.",
    "lab": "Open a page to choose what is never seen, watch it learn, and try it.",
    "doctor": "Print what a bug report needs, and find common troubles on this machine.",
}
PATHS = {"list": "list:catalogue", "export": "export:app"}
for name, about in COMMANDS.items():
    app.command(
        f"unseen.commands.{PATHS.get(name, f'{name}:{name}')}",
        name=name,
        help=about,
        **({"help_epilogue": EXAMPLES} if name == "run" else {}),
    )

# A file of $fpath is run for each completion, where cyclopts' script would only define a function.
ZSH_START = """
if [ "$funcstack[1]" = _unseen ]; then
  {function} "$@"
else
  compdef {function} unseen
fi"""


@app.command(help="Print what a shell needs to complete commands and options: source it there.")
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="bash, zsh or fish")], /
) -> None:
    script = app.generate_completion(prog_name="unseen", shell=shell).rstrip("\n")
    if shell == "zsh" and (defined := re.search(r"^(_\w+)\(\) {", script, re.M)):
        script += ZSH_START.format(function=defined[1])
    emit(script)


def command(arguments: list[str] | None = None) -> int:
    """Run one command line; returns its exit code."""
    try:
        os.getcwd()
    except FileNotFoundError:
        say("the folder that this is run in was removed: go to another one with cd")
        return 2
    try:
        # a command returns the code that it ends with, if that is another than 0
        return app(arguments) or 0
    except SettingError as error:
        option = "--" + error.setting.replace("_", "-")
        value = f"{error.value:g}" if isinstance(error.value, float) else str(error.value)
        say(f"{option} {shortened(value, 200)} {error.fault}")
    except (UnseenError, cyclopts.CycloptsError) as error:
        say(str(error))
    except (MemoryError, ImportError) as error:
        if not is_out_of_memory(error):
            raise
        say("out of memory; fewer combinations, or fewer samples of each, need less")
    except BrokenPipeError:
        raise
    except OSError as error:
        say(f"cannot use {error.filename or 'the output'}: {error.strerror or error}")
    return 2
