"""The docs' instructions, followed word by word: files saved, commands typed, buttons pressed."""

import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlencode

import pytest
from conftest import SMALL
from lab_server import TINY

import unseen
from unseen.cli import command

DOCS = Path(__file__).parents[1] / "docs"
EXTENDING = (DOCS / "extending.md").read_text()


def blocks(text: str, language: str = "") -> list[str]:
    """The code blocks of a page in a language; commands have none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.S | re.M)
    return [block for each, block in found if each == language]


def files(text: str) -> dict[str, str]:
    """The files that a page says to save, by the names in their first lines."""
    found = {}
    for block in blocks(text, "python") + blocks(text, "toml"):
        named = re.match(r"# (\S+\.(?:py|toml))\n", block)
        assert named, block
        found[named[1]] = block
    return found


def commands(text: str) -> list[list[str]]:
    """The commands that a page says to type, those of runs and data with fewer samples."""
    typed = [
        shlex.split(line, comments=True) for each in blocks(text) for line in each.splitlines()
    ]
    assert all(words[0] == "unseen" for words in typed)
    return [
        words[1:] + (SMALL if "run" in words and "--samples" not in words else [])
        for words in typed
    ]


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def here(without_added_parts) -> Path:
    return without_added_parts


def test_the_tutorial_on_a_network_works_as_it_is_written(here, capfd):
    tutorial = section(EXTENDING, "Your own network in 20 lines")
    ((name, source),) = files(tutorial).items()
    assert len(source.splitlines()) <= 20
    (here / name).write_text(source)
    typed = commands(tutorial)
    assert [words[0] for words in typed] == ["run", "run", "compare", "export", "predict"]
    for words in typed:
        capfd.readouterr()
        assert command(words) == 0, words
        text = capfd.readouterr().out
        if words[0] == "compare":
            assert "my-net" in text
            assert "theirs" in text
    assert len(text.splitlines()) == 10  # a picture of each unseen pair


SCRIPTS = {name: source for name, source in files(EXTENDING).items() if "unseen.run(" in source}


def test_every_kind_of_part_has_a_script():
    text = " ".join(SCRIPTS.values())
    for kind in ("model", "operation", "symbols", "split"):
        assert f"unseen.register_{kind}(" in text
    assert "METRICS[" in text


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_the_page_runs(here, name, capsys):
    fewer = "samples=2, test_samples=2, watched_samples=20"
    small = SCRIPTS[name].replace("samples=100", fewer)
    assert small != SCRIPTS[name]
    (here / name).write_text(small)
    made = runpy.run_path(name)
    assert len(made["run"].results) == 1
    text = capsys.readouterr().out
    assert text == "0.0\n" if "METRICS" in small else "Shown " in text


def test_the_package_of_the_page_brings_parts_to_every_process(here):
    """Installed: the command line knows its parts, and so do the processes of its folds."""
    package = section(EXTENDING, "For the command line: a package")
    for name, content in files(package).items():
        (here / name).write_text(content)
    project = tomllib.loads((here / "pyproject.toml").read_text())["project"]
    info = here / "our_parts-1.0.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata)
    ((name, where),) = project["entry-points"]["unseen.parts"].items()
    (info / "entry_points.txt").write_text(f"[unseen.parts]\n{name} = {where}\n")
    listed, run = (
        subprocess.run(
            [sys.executable, "-m", "unseen", *words],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(here)},
            cwd=here,
            check=False,
        )
        for words in commands(package)
    )
    assert "The smallest digit" in listed.stdout, listed.stderr
    assert run.returncode == 0, run.stderr
    assert "2 folds" in run.stdout


LESSON = (DOCS / "teaching.md").read_text()
ACTIONS = re.compile(
    r"[Ss]et \*\*(?P<field>.+?)\*\* to `(?P<value>.+?)`"
    r"|[Pp]ress \*\*(?P<button>.+?)\*\*"
    r"|[Cc]lick the pair `(?P<pair>\d \d)`"
)


def test_the_lesson_is_given_as_it_is_written(lab, browser):
    """In the lab, with few samples: what is to be set, pressed and clicked, in its order."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(90_000)
    page.goto(f"{lab.url}#{urlencode({'preset': 'fast', **TINY})}")
    page.wait_for_selector("html[data-ready]")
    words = " ".join(page.evaluate("document.body.textContent").split())
    for named in re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", LESSON):
        assert named in words, "the lab says nothing like this"
    began = []
    for action in ACTIONS.finditer(LESSON):
        done = action.groupdict()
        if done["field"]:
            with page.expect_response("**/api/setup") as answered:
                set_field(page, done["field"], done["value"])
            assert answered.value.ok, answered.value.text()
        elif done["button"]:
            began.append(experiment_of(command_shared(page)))
            page.get_by_role("button", name=done["button"], exact=True).click()
            page.wait_for_selector("#verdict a")
        else:
            left, right = map(int, done["pair"].split())
            page.locator(f"#grid td[data-row='{10 * left + right}']").click()
            page.wait_for_selector(f"#cell-title:has-text('({left}, {right})')")
            page.keyboard.press("Escape")
    typed = re.findall(r"^\| .+? \| `(unseen run .+?)` \|", LESSON, flags=re.M)
    assert began == [experiment_of(each) for each in typed]


def experiment_of(typed: str) -> tuple[unseen.Experiment, str]:
    """What a command runs, made as small as the tests have it, and its folds."""
    _, _, preset, *options = shlex.split(typed)
    settings = {
        name.removeprefix("--").replace("-", "_"): value
        for name, value in zip(options[::2], options[1::2], strict=True)
    }
    folds = settings.pop("folds", "1")
    return unseen.PRESETS[preset]().vary(**settings | TINY), folds


def set_field(page, name: str, value: str) -> None:
    """Choose an option by what the list says, or type into a field."""
    field = page.locator(f"xpath=//label[normalize-space(text()[1])='{name}']//*[@id]")
    is_list = field.evaluate("each => each.tagName === 'SELECT'")
    field.select_option(label=value) if is_list else field.fill(value)


def command_shared(page) -> str:
    """The command that the lab offers for what is set."""
    page.wait_for_function("!document.getElementById('start').disabled")
    page.get_by_role("button", name="Share", exact=True).click()
    shared = page.locator("#share-command").input_value()
    page.keyboard.press("Escape")
    return shared


def test_what_the_lesson_has_teachers_type_works(here, capsys):
    doctor, lab, run, export = commands(LESSON)
    assert command(doctor) == 0
    assert lab == ["lab"]  # which the test above is in
    assert command(run) == 0
    assert command(export) == 0
    assert (here / "our-class.html").stat().st_size > 100_000


def test_the_wrong_rule_of_the_lesson_fits_all_that_was_seen():
    found = re.search(r"`(\d(?: \d){4})`, in the order of the digits", LESSON)
    assert found is not None
    values = [*map(int, found[1].split())]
    experiment, _ = experiment_of("unseen run fast --symbols mnist-0-4 --split mnist-half")
    task = unseen.make_task(experiment.problem)
    answers = {
        (left, right): values[left] + values[right]
        for left, right in task.combinations.digits.tolist()
    }
    seen = [tuple(each) for each in task.combinations.digits[task.folds[0].seen].tolist()]
    assert len(seen) == 7
    assert all(answers[pair] == sum(pair) for pair in seen)
    for left, right, answer in re.findall(r"(\d) \+ (\d) as (\d)", LESSON):
        assert answers[int(left), int(right)] == int(answer)
