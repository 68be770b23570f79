import shutil
import subprocess

import pytest

from unseen.cli import command

# by shell: the file that its completion is saved in, what is asked of it, and its first word
ASKED = [
    (
        "bash",
        "unseen.bash",
        "source ./unseen.bash; COMP_WORDS=(unseen run --opt); COMP_CWORD=2; _unseen; "
        "echo $COMPREPLY",
        "--optimizer",
    ),
    (
        "zsh",
        "_unseen",
        "_arguments() { print asked }; fpath=(.); autoload _unseen; _unseen; _unseen",
        "asked",
    ),
    ("zsh", "_unseen", "compdef() { print $2 }; source ./_unseen", "unseen"),
    ("fish", "unseen.fish", "source unseen.fish; complete -C 'unseen run --optim'", "--optimizer"),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_commands_and_options(shell, capsys):
    assert command(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(each in script for each in ("sweep", "predict", "learning-rate"))


@pytest.mark.parametrize("asked", ASKED)
def test_a_shell_completes(asked, tmp_path, capsys):
    shell, file, ask, first = asked
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    command(["completion", shell])
    (tmp_path / file).write_text(capsys.readouterr().out)
    ended = subprocess.run(
        [shell, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split()[0] == first, ended.stderr
