"""`unseen predict`: pictures as people have them."""

import csv
import io
import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from made_up_runs import exact, made_up_run
from photographs import enlarged, photograph, side_by_side
from PIL import Image, ImageDraw

import unseen
from unseen.api import load
from unseen.cli import command
from unseen.errors import SettingError
from unseen.problem.symbols import load_symbols
from unseen.runs.presets import PRESETS
from unseen.use.ink import PictureError, find_lines, has_dark_ink
from unseen.use.pictures import MOST_PIXELS, SymbolShape, prepare, read_picture
from unseen.use.predictions import FailedPicture

RUN = Path(__file__).parents[1] / "data/runs/fast-81afcdf4e08a"  # two folds, hardly trained
PAIR = SymbolShape(length=2, height=28, width=28, is_mnist_like=True)
BANK = load_symbols("mnist")


def digit(value: int, which: int = 0) -> np.ndarray:
    return BANK.test.images[BANK.test.pools[value][which]]


def pair(left: int, right: int, which: int = 0) -> np.ndarray:
    return side_by_side([digit(left, which), digit(right, which)])


def broken(value: int) -> np.ndarray:
    """A digit in several pieces, as a pen that runs dry leaves it: rows of it are blank."""
    picture = np.pad(digit(value), 10)
    picture[16:19] = picture[24:26] = 0
    return picture


def save(path: Path, pixels: np.ndarray, **options: object) -> Path:
    Image.fromarray(pixels).save(path, **options)
    return path


def test_a_picture_of_the_papers_size_is_taken_as_it_is_light_on_dark_or_dark_on_light():
    picture = pair(3, 8)
    for given, is_dark in ((picture, False), (255 - picture, True)):
        made = prepare(given, PAIR)
        assert np.array_equal(made.pixels, picture)
        assert (made.is_dark_on_light, made.cut) == (is_dark, "as they are")


def test_formats_and_modes_become_grey(tmp_path: Path):
    picture = pair(3, 8)
    image = Image.fromarray(picture)
    deep = Image.fromarray(picture.astype(np.uint16) * 257)
    transparent = Image.new("LA", image.size)
    transparent.putalpha(image)  # black ink on nothing
    turned = image.transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6
    for name, each, options, expected in (
        ("rgb.png", image.convert("RGB"), {}, picture),
        *((f"a.{suffix}", image, {}, picture) for suffix in ("jpg", "webp", "tiff")),
        ("palette.png", image.convert("P"), {}, picture),
        ("deep.png", deep, {}, picture),
        ("transparent.png", transparent, {}, 255 - picture),
        ("turned.png", turned, {"exif": exif}, picture),
        ("turned.tiff", turned, {"exif": exif}, picture),
    ):
        each.save(tmp_path / name, **options)
        off = np.abs(read_picture(tmp_path / name).astype(int) - expected)
        assert off.mean() < 8 if name[0] == "a" else off.max() <= 1, name


def test_enlarged_pictures_come_out_as_mnist_has_them():
    rng = np.random.default_rng(0)
    for _ in range(30):
        picture = pair(*rng.integers(0, 10, 2), int(rng.integers(0, 100)))
        for given in (np.kron(picture, np.ones((4, 4), np.uint8)), 255 * (1 - enlarged(picture))):
            made = prepare(given.astype(np.uint8), PAIR)
            assert np.abs(made.pixels.astype(int) - picture).mean() < 25
            assert made.cut == "as they are"


def closeness(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(one.ravel().astype(float), other.ravel().astype(float))[0, 1])


@pytest.mark.parametrize("is_ruled", [False, True])
def test_photographs_come_out_as_the_digits_that_they_show(is_ruled: bool):
    """Uneven light, shadows, turned by up to 10°, JPEG noise, ruled lines.

    A nearest mean of each digit, which knows nothing of photographs, reads them nearly as well.
    """
    means = np.stack([BANK.train.images[BANK.train.pools[v]].mean(axis=0) for v in range(10)])
    means = means.reshape(10, -1) / np.linalg.norm(means.reshape(10, -1), axis=1, keepdims=True)

    def read(pixels: np.ndarray) -> list[int]:
        panels = np.stack(np.split(pixels, 2, axis=1)).reshape(2, -1).astype(float)
        return (panels @ means.T).argmax(axis=1).tolist()

    rng = np.random.default_rng(3)
    alike, clean, photographed = [], 0, 0
    for _ in range(60):
        digits = rng.integers(0, 10, 2)
        picture = pair(*digits, int(rng.integers(0, 500)))
        made = prepare(photograph(picture, rng, ruled=is_ruled), PAIR)
        assert made.is_dark_on_light
        alike.append(closeness(made.pixels, picture))
        clean += np.sum(read(picture) == digits)
        photographed += np.sum(read(made.pixels) == digits)
    assert np.median(alike) > 0.75
    assert np.mean(np.asarray(alike) > 0.45) > 0.9
    assert photographed >= 0.93 * clean


def test_symbols_off_the_equal_panels_are_found_by_their_ink():
    ink = enlarged(pair(3, 8))
    shifted = np.pad(ink, ((20, 20), (10, 200)))
    made = prepare((255 * (1 - shifted)).astype(np.uint8), PAIR)
    assert made.cut == "by ink"
    assert closeness(made.pixels, pair(3, 8)) > 0.85


def test_thin_pens_get_strokes_as_mnist_has_them():
    for pen in (1, 2, 5, 16, 40):
        image = Image.new("L", (400, 200), 255)
        for left in (0, 200):
            line = [(left + 50, 40), (left + 140, 40), (left + 80, 170)]
            ImageDraw.Draw(image).line(line, fill=0, width=pen, joint="curve")
        made = prepare(np.asarray(image), PAIR).pixels
        length = 2 * (90 + 143) * 20 / (130 + pen)  # of the line, in pixels of MNIST's
        assert 1.3 < made.sum() / 255 / length < 4.2, pen


def test_lines_are_found_and_strokes_that_cross_them_stay():
    ink = enlarged(pair(1, 1)) > 0.5
    ruled = ink.copy()
    ruled[80:82] = True
    lines, slope = find_lines(ruled)
    assert slope == pytest.approx(0, abs=0.01)
    assert (lines & ~ink)[80:82].mean() > 0.7
    assert (lines & ink).sum() < 0.15 * ink.sum()
    assert find_lines(ink)[1] is None


def test_what_is_dark_is_found_whatever_the_shadow():
    ink = np.pad(enlarged(pair(4, 2)), 20)
    light = np.linspace(80, 250, ink.shape[1])[None]
    assert has_dark_ink((light * (1 - 0.8 * ink)).astype(np.uint8))
    assert not has_dark_ink((light / 3 + (250 - light / 3) * ink).astype(np.uint8))


@pytest.mark.parametrize(
    ("pixels", "fault"),
    [
        (np.full((100, 200), 200, np.uint8), "no ink"),
        (np.zeros((3, 400), np.uint8), "too few"),
        (np.zeros((100, 200_000), np.uint8), "200000 × 100 pixels are too long a strip"),
        (np.zeros((28, 56), np.uint8), "no ink in panel 1 of 2"),
        (np.concatenate([digit(3), digit(3) * 0 + 9], axis=1), "no ink in panel 2 of 2"),
        (side_by_side([digit(3), digit(8), digit(1)]), "84 × 28 pixels are 3 of MNIST's digits"),
        (np.pad(digit(0), ((20, 20), (20, 150))), "only 1 of 2 symbols"),
        (np.kron(broken(7), np.ones((5, 5), np.uint8)), "only 1 of 2 symbols"),
    ],
)
def test_pictures_that_show_no_row_of_symbols_are_refused(pixels: np.ndarray, fault: str):
    with pytest.raises(PictureError, match=fault):
        prepare(pixels, PAIR)


def test_symbols_that_have_no_box_are_scaled_as_they_stand():
    shape = SymbolShape(2, 28, 28, is_mnist_like=False)
    garments = np.full((28, 56), 90, np.uint8)
    garments[5:25, 10:50] = 200
    made = prepare(np.kron(garments, np.ones((3, 3), np.uint8)), shape)
    assert np.array_equal(made.pixels, garments)
    assert not prepare(np.zeros((28, 56), np.uint8), shape).pixels.any()  # no pips are a symbol too
    with pytest.raises(PictureError, match="another shape"):
        prepare(np.zeros((100, 100), np.uint8), shape)


def test_a_folder_is_answered_and_what_is_wrong_is_said_line_by_line(tmp_path: Path, capsys):
    folder = tmp_path / "pictures"
    folder.mkdir()
    save(folder / "a.png", pair(3, 8))
    save(folder / "b.jpg", 255 - pair(3, 8))
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n nothing")
    save(folder / "empty.png", np.zeros((100, 200), np.uint8))
    (folder / "huge.png").write_bytes(bomb(40_000))  # beyond what Pillow would refuse
    (folder / "large.png").write_bytes(bomb(7_000))
    (folder / "note.txt").write_text("no picture")
    assert command(["predict", str(RUN), str(folder), str(tmp_path / "none.png")]) == 1
    out, err = capsys.readouterr()
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        *(str(folder / name) for name in ("a.png", "b.jpg"))
    ]
    assert "light on dark" in out.splitlines()[0]
    assert "dark on light" in out.splitlines()[1]
    assert "of 2 networks agree" in out
    for name, fault in (
        *(("broken.png", "no whole PNG"), ("empty.png", "no ink"), ("huge.png", "million")),
        *(("large.png", f"more than {MOST_PIXELS // 10**6} million"), ("none.png", "No such file")),
    ):
        assert any(name in line and fault in line for line in err.splitlines()), err
    assert len(err.splitlines()) == 5


def bomb(side: int) -> bytes:
    """A PNG of few bytes that says it is huge."""
    with io.BytesIO() as file:
        Image.new("1", (8, 8)).save(file, "PNG")
        content = bytearray(file.getvalue())
    content[16:24] = struct.pack(">II", side, side)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    return bytes(content)


def test_json_csv_and_python_say_the_same(tmp_path: Path, capsys):
    paths = [str(save(tmp_path / f"{at}.png", pair(3, 8, at))) for at in range(3)]
    assert command(["predict", str(RUN), *paths, "--json", "--truth", "3,8"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["folds"] == [1, 2]
    assert said["truth"]["combination"] == [3, 8]
    assert said["truth"]["answer"] == 11
    assert command(["predict", str(RUN), *paths, "--csv", "--truth", "3 8"]) == 0
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out))]
    run = unseen.load(RUN)
    answers = run.predict(np.stack([pair(3, 8, at) for at in range(3)]))
    for row, each, answer in zip(rows, said["predictions"], answers, strict=True):
        assert float(row["answer"]) == pytest.approx(each["answer"])
        assert each["answer"] == pytest.approx(float(answer), abs=1e-4)
        assert each["rounded"] == round(each["answer"])
        assert each["is_right"] == (each["rounded"] == 11)
        assert [*each["answers"]] == ["1", "2"]
    one = json_of(capsys, [*paths, "--fold", "2"])["predictions"][0]
    assert one["answers"] == {"2": said["predictions"][0]["answers"]["2"]}
    predictions = [*run.predict_files([*paths, tmp_path / "none.png"])]
    assert isinstance(predictions[-1], FailedPicture)
    assert predictions[0].answer == pytest.approx(said["predictions"][0]["answer"])


def json_of(capsys, arguments: list[str]) -> dict:
    assert command(["predict", str(RUN), *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_list_on_stdin_and_a_drawing_of_what_was_seen(tmp_path: Path, capsys, monkeypatch):
    path = save(tmp_path / "a picture.png", pair(1, 1))
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{path}\n\n"))
    assert command(["predict", str(RUN), "-", "--show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(str(path))
    assert len(lines) == 15
    assert all(len(line) == 56 for line in lines[1:])
    assert "█" in "".join(lines[1:])


def test_it_is_said_which_networks_have_never_seen_a_pair(tmp_path: Path, capsys):
    run = unseen.load(RUN)
    unseen_pair = run.results[0].unseen[0]
    path = str(save(tmp_path / "a.png", pair(*unseen_pair)))
    text = ",".join(map(str, unseen_pair))
    assert command(["predict", str(RUN), path, "--truth", text]) == 0
    out = capsys.readouterr().out
    assert "of 2 folds, it was unseen in fold 1" in out
    assert "where it is unseen" in out
    assert command(["predict", str(RUN), path, "--truth", text, "--fold", "2"]) == 0
    assert "it was seen in training in fold 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "name a picture"),
        (["a.png", "--truth", "3,88"], "--truth 3,88 is no combination of 2"),
        (["a.png", "--fold", "7"], "fold 7 is not done"),
        (["a.png", "--json", "--csv"], "choose one"),
        (["--bogus"], "unknown option '--bogus'"),
    ],
)
def test_wrong_commands_are_one_line_and_exit_code_2(arguments: list[str], fault: str, capsys):
    assert command(["predict", str(RUN), *arguments]) == 2
    err = capsys.readouterr().err
    assert fault in err
    assert len(err.splitlines()) == 1


def test_a_run_without_networks_says_so(tmp_path: Path, capsys):
    folder = made_up_run(tmp_path, PRESETS["mean"]().vary(samples=6, test_samples=4), exact)
    assert command(["predict", str(folder.path), "a.png"]) == 2
    assert "mean is a baseline: it has no network" in capsys.readouterr().err


def test_a_name_that_no_file_can_have_is_a_picture_that_fails():
    answers = [*load(RUN).predict_files(["\0", "a" * 5000])]
    assert [type(each) for each in answers] == [FailedPicture, FailedPicture]
    with pytest.raises(SettingError, match="is no path"):
        load(RUN).predict_files([3])
