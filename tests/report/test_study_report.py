import csv
import re
import signal

import pytest
from made_up_runs import by_heart, exact, made_up_run, noisy
from pyarrow import parquet

from unseen.cli import command
from unseen.report.study_report import draw_study, render_study
from unseen.runs.presets import fast
from unseen.studies.points import compared_settings, study_points
from unseen.studies.study import read_study
from unseen.studies.sweep import plan_study

SMALL = "[settings]\nsamples = 3\ntest-samples = 20\nfolds = '1-2'\n"
TINY = fast().vary(samples=3, test_samples=20)


@pytest.fixture(autouse=True)
def _handlers_stay():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def planned(tmp_path, text, settings=SMALL):
    path = tmp_path / "mine.toml"
    path.write_text(settings + text)
    return plan_study(read_study(path), tmp_path / "runs")


def test_points_are_over_folds_and_seeds_and_linked_to_their_runs(tmp_path):
    for unseen, answering in ((10, exact), (20, noisy), (30, by_heart)):
        for seed in (0, 1):
            experiment = TINY.vary(unseen=unseen, seed=seed)
            made_up_run(tmp_path / "runs", experiment, answering, [1, 2, 3])
    three = SMALL.replace("1-2", "1-3")
    plan = planned(tmp_path, "[vary]\nunseen = [10, 20, 30, 31]\nseed = [0, 1]\n", three)
    assert compared_settings(plan.study) == ("unseen",)
    points = study_points(plan)
    assert [(point.settings, point.networks, len(point.runs)) for point in points] == [
        ({"unseen": unseen}, 6, 2) for unseen in (10, 20, 30)
    ]
    assert points[0].intervals["rounded"].mean == 1
    means = [point.intervals["rounded"] for point in points]
    assert means[0].mean > means[1].mean > means[2].mean
    assert means[1].low < means[1].mean < means[1].high
    assert [point.determined for point in points] == [1, 1, 1]
    page = render_study(plan, tmp_path / "runs", ["one <failed>"])
    assert "8 runs, 18 of 24 folds done" in page
    assert "seen combinations" in page
    assert "one &lt;failed&gt;" in page
    for folder in [*plan.runs][:6]:
        assert f'href="{folder.path.name}/report.html"' in page
    assert 'title="seed 1">2</a>' in page
    # each point of the figure leads to its row
    anchors = re.findall('href="#(study-point-[0-9]+)"', page)
    assert sorted({*anchors}) == ["study-point-0", "study-point-1", "study-point-2"]
    assert all(f'id="{anchor}"' in page for anchor in anchors)
    assert "http:" not in re.sub(r"xmlns(:xlink)?=\"[^\"]*\"", "", page)


def test_settings_that_change_together_are_one_axis(tmp_path):
    cases = "cases = [{unseen = 90, samples = 4}, {unseen = 50, samples = 3}]"
    text = f'[vary]\npreset = ["fast", "good"]\n{cases}\nseed = [0, 1]\nfolds = [1]\n'
    made_up_run(tmp_path / "runs", TINY.vary(unseen=90, samples=4), noisy, [1])
    plan = planned(tmp_path, text)
    assert len(plan.runs) == 8
    assert compared_settings(plan.study) == ("preset", "unseen")
    (point,) = study_points(plan)
    assert point.settings == {"preset": "fast", "unseen": 90}
    assert 0 < point.determined < 0.5  # ten pairs leave most sums open
    assert "Settled" in render_study(plan, tmp_path / "runs", [])


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ('[vary]\noperation = ["add", "multiply"]\n', "Bars are"),
        (
            '[vary]\noperation = ["add", "multiply"]\nmodel = ["lenet5-curved", "lenet5"]\n',
            "the table has",
        ),
        ("[vary]\nseed = [0, 1, 2]\n", "seed"),
        ("", "Nothing is varied"),
    ],
)
def test_every_kind_of_study_has_a_page(tmp_path, vary, words):
    empty = render_study(planned(tmp_path, vary), tmp_path, [])
    assert "No fold is done yet." in empty
    made_up_run(tmp_path / "runs", TINY, noisy, [1])
    page = render_study(planned(tmp_path, vary), tmp_path, [])
    assert words in page
    assert page.count("report.html") == 1


def test_a_page_names_no_folders_of_the_machine(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("import torch\n\nclass Net(torch.nn.Identity):\n    pass\n")
    made_up_run(tmp_path / "runs", TINY.vary(model=f"{own}:Net"), noisy, [1])
    plan = planned(tmp_path, f'[vary]\nmodel = ["lenet5", "{own}:Net"]\n')
    page = render_study(plan, tmp_path, [])
    assert "own.py:Net" in page
    assert str(tmp_path) not in page


@pytest.mark.parametrize("other", ["unseen = [10, 20, 30]", 'operation = ["add", "subtract"]'])
def test_networks_of_one_name_in_two_folders_stay_apart(tmp_path, other):
    owns = [tmp_path / folder / "own.py" for folder in "ab"]
    for own in owns:
        own.parent.mkdir()
        own.write_text(f"import torch\n\nclass Net(torch.nn.Identity):\n    '{own.parent.name}'\n")
    models = ", ".join(f'"{own}:Net"' for own in owns)
    plan = planned(tmp_path, f"[vary]\nmodel = [{models}]\n{other}\n")
    for folder, run in plan.runs.items():
        made_up_run(folder.path.parent, run.experiment, noisy, [1])
    plan = plan_study(plan.study, tmp_path / "runs")
    figure, _ = draw_study(plan, study_points(plan))
    (place,) = figure.axes
    if "unseen" in other:
        lines = [each for each in place.get_lines() if each.get_label() == "own.py:Net"]
        assert [len(each.get_xdata()) for each in lines] == [3, 3]
    else:
        corners = {each.get_xy() for each in place.patches}
        assert len(corners) == 4


def test_the_command_finds_what_is_done_and_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made_up_run(tmp_path / "runs", TINY, noisy, [1, 2])
    (tmp_path / "mine.toml").write_text(SMALL)
    assert command(["sweep", "mine.toml", "--dry-run"]) == 0
    assert "1 run, 2 folds; 2 done." in capsys.readouterr().out
    assert command(["sweep", "mine.toml", "--report"]) == 0
    assert capsys.readouterr().out == "Results: runs/mine.parquet\nReport: runs/mine.html\n"
    rows = parquet.read_table(tmp_path / "runs/mine.parquet").to_pylist()
    with (tmp_path / "runs/mine.csv").open(newline="") as file:
        lines = [*csv.DictReader(file)]
    assert [(row["fold"], row["state"], row["samples"]) for row in rows] == [
        (fold, "done", 3) for fold in (1, 2)
    ]
    assert [row["rounded"] for row in rows] == [float(line["rounded"]) for line in lines]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert command(["sweep", "mine.toml"]) == 0
    assert capsys.readouterr().out == "Results: runs/mine.csv\n"
    (run,) = (path for path in (tmp_path / "runs").iterdir() if path.is_dir())
    assert (run / "report.html").is_file()


def test_folds_that_fail_are_listed_and_the_exit_code_is_1(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made_up_run(tmp_path / "runs", TINY, noisy, [1])
    (tmp_path / "bad.py").write_text("class Net:\n    def __init__(self): raise KeyError('no')\n")
    (tmp_path / "mine.toml").write_text(
        SMALL.replace("1-2", "1") + '[[vary]]\n[[vary]]\nmodel = ["bad.py:Net"]\n'
    )
    assert command(["sweep", "mine.toml", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert "bad.py:Net" in said.err
    assert "1 fold failed; the same command tries again" in said.err
    assert ",failed," in (tmp_path / "runs/mine.csv").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--address", "tcp://a:1"], "--engine dask"),
        (["--jobs", "0"], "--jobs 0 must be at least 1"),
        (["--output", "a.xlsx"], "must be a .csv file"),
    ],
)
def test_what_cannot_be_is_said(capsys, words, said):
    assert command(["sweep", "seeds", *words]) == 2
    assert said in capsys.readouterr().err
