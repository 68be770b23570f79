"""A page without a server, in a real browser: one draws, chooses, and is told."""

import base64
import io
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsers import beyond_the_screen, open_page
from complete_folds import complete_fold
from drawings import drawings
from pages import EARLIER, PUBLISHED, data_of, font_picture
from PIL import Image

import unseen
from unseen.cli import command
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder
from unseen.use.page import (
    LARGEST_PAGE_BYTES,
    bundled_script,
    content_hash,
    page_style,
    render_page,
)

DRAWN = drawings()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published page, whose networks are trained, with the scripts and styles of now."""
    page = PUBLISHED.read_text()
    for tag, kind, content in (
        ("<style>", "style", page_style()),
        ('<script type="module">', "script", bundled_script("page.js")),
    ):
        start = page.index(tag) + len(tag)
        page = page[:start] + content + page[page.index(f"</{kind}>", start) :]
        policy = f"{kind}-src '{content_hash(content)}'"
        page = re.sub(rf"{kind}-src '[^']*'", lambda _, policy=policy: policy, page, count=1)
    path = tmp_path_factory.mktemp("trained") / "page.html"
    path.write_text(page)
    return path


def draw(page, place: int, strokes: list[list[tuple[float, float]]]) -> None:
    """Draw by mouse."""
    pad = page.locator(".try-pad").nth(place)
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    for stroke in strokes:
        points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*points[0])
        page.mouse.down()
        for point in [*points[::9], points[-1]]:
            page.mouse.move(*point)
        page.mouse.up()


def settled(page) -> None:
    """Wait until what was drawn last is answered."""
    page.locator(".try:not([data-state=asking])").wait_for()


def answer_of(page) -> str:
    page.locator(".try-rounded").wait_for()  # a picture is read first
    settled(page)
    return page.locator(".try-rounded").inner_text()


def notice_of(page) -> str:
    """What the page says about a picture, and then says no more."""
    notice = page.locator(".try-notice")
    notice.wait_for()
    said = notice.inner_text()
    notice.evaluate("(notice) => { notice.textContent = ''; }")
    return said


def drawn(digit: int, way: int = 0) -> list[list[tuple[float, float]]]:
    return [strokes for each, strokes in DRAWN if each == digit][way]


def test_one_draws_chooses_and_is_told_whether_it_was_seen(browser, trained):
    page, said, asked = open_page(browser, trained, viewport={"width": 1200, "height": 900})
    assert page.locator(".try-verdict").inner_text().startswith("Say what you drew")
    unseen_cell = page.locator(".pair-cell.unseen").first
    left, right = map(int, unseen_cell.get_attribute("title").strip("()").split(", "))
    unseen_cell.click()
    assert page.locator(".try-here").all_inner_texts() == [f"draw {left}", f"draw {right}"]
    draw(page, 0, drawn(left))
    settled(page)
    assert page.locator(".try-said").inner_text() == "Now the right digit."
    draw(page, 1, drawn(right))
    assert answer_of(page) == str(left + right)
    verdict = f"Right. ({left}, {right}) was never seen in training."
    assert page.locator(".try-verdict").inner_text() == verdict
    assert page.locator(".try-claim select").first.input_value() == str(left)
    page.locator(".try-live", has_text=f"rounds to {left + right}. {verdict}").wait_for(
        state="attached"
    )
    # another pair, by the keyboard; and a network that never saw it
    page.get_by_label("What the left digit is").select_option("3")
    page.get_by_label("What the right digit is").select_option("8")
    pressed = page.locator(".pair-cell[aria-pressed=true]")
    assert pressed.get_attribute("title") == "(3, 8)"
    pressed.focus()
    page.get_by_text("Clear all").click()
    draw(page, 0, drawn(3, 1))
    draw(page, 1, drawn(8, 1))
    assert answer_of(page) == "11"
    data = data_of(PUBLISHED)
    never = [fold["fold"] for fold in data["folds"] if 38 in fold["unseen"]]
    if never and 38 not in data["folds"][0]["unseen"]:
        assert "(3, 8) was seen" in page.locator(".try-verdict").inner_text()
        page.locator("#other").click()
        settled(page)
        assert "never seen" in page.locator(".try-verdict").inner_text()
        assert page.locator("#other").is_hidden()
    assert said == []
    assert asked == []


def test_a_finger_draws_and_the_page_does_not_scroll(browser, trained):
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 500})
    page, said, _ = open_page(context, trained)
    page.locator(".try-pad").first.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    box = page.locator(".try-pad").first.bounding_box()
    session = context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        fingers = [
            {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"], "id": at}
            for at, (x, y) in enumerate(points)
        ]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    touch("touchStart", (0.5, 0.9))
    for step in range(8):
        touch("touchMove", (0.5, 0.9 - 0.1 * step))
    touch("touchStart", (0.5, 0.2), (0.9, 0.9))  # a palm
    touch("touchMove", (0.5, 0.1), (0.8, 0.8))
    touch("touchEnd")
    settled(page)
    assert page.evaluate("scrollY") == before
    seen = page.evaluate(
        "[...document.querySelector('.try-seen').getContext('2d').getImageData(0, 0, 28, 28).data]"
    )
    grey = np.array(seen).reshape(28, 28, 4)[..., 0]
    assert grey.max() == 255
    assert (grey.max(axis=0) > 0).sum() <= 6  # one line: the palm drew nothing
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert said == []
    context.close()


def test_undo_takes_back_a_stroke_and_even_a_clearing(browser, trained):
    page, said, _ = open_page(browser, trained)
    looks = "document.querySelector('.try-seen').toDataURL()"
    nothing = page.evaluate(looks)
    draw(page, 0, drawn(7))
    settled(page)
    one = page.evaluate(looks)
    draw(page, 0, [[(0.3, 0.5), (0.7, 0.5)]])
    settled(page)
    two = page.evaluate(looks)
    assert len({nothing, one, two}) == 3
    page.locator(".try-pad").first.focus()
    for key, expected in (
        ("Control+z", one),
        ("Delete", nothing),
        ("Control+z", one),
        ("Control+z", nothing),
    ):
        page.keyboard.press(key)
        settled(page)
        assert page.evaluate(looks) == expected
    assert page.get_by_label("Undo, left digit").is_disabled()
    assert said == []


def picture_file(pixels: np.ndarray) -> dict[str, Any]:
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG")
    return {"name": "p.png", "mimeType": "image/png", "buffer": file.getvalue()}


def test_a_picture_is_cut_into_its_digits_and_what_is_none_is_refused(browser, trained):
    page, said, _ = open_page(browser, trained)
    row = np.concatenate([font_picture(4, "DejaVuSans"), font_picture(9, "DejaVuSerif")], axis=1)
    file = page.locator(".try-file")
    file.set_input_files(picture_file(row))
    assert answer_of(page) == "13"
    shifted = np.concatenate([np.full((120, 90), 235), row, np.full((120, 10), 235)], axis=1)
    page.get_by_text("Clear all").click()
    settled(page)
    file.set_input_files(picture_file(255 - shifted))  # light on dark, and not in halves
    assert answer_of(page) == "13"
    for pixels, fault in (
        (np.full((60, 120), 200), "Nothing was found in this picture"),
        (np.concatenate([row[:, :120], np.full((120, 120), 235)], axis=1), "Only 1 of 2 digits"),
        (font_picture(4, "DejaVuSans"), "Only 1 of 2 digits were found"),
    ):
        file.set_input_files(picture_file(pixels))
        assert notice_of(page).startswith(fault)
    file.set_input_files({"name": "p.png", "mimeType": "image/png", "buffer": b"no picture"})
    assert notice_of(page).startswith("This is no picture")
    # one digit dropped on its own square
    page.evaluate(
        """(bytes) => {
          const carried = new DataTransfer();
          const content = Uint8Array.from(atob(bytes), (sign) => sign.charCodeAt(0));
          carried.items.add(new File([content], "p.png", { type: "image/png" }));
          document.querySelectorAll(".try-pad")[1].dispatchEvent(
            new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
        }""",
        base64.b64encode(picture_file(font_picture(2, "DejaVuSans"))["buffer"]).decode(),
    )
    page.locator(".try-rounded", has_text=re.compile("^6$")).wait_for()
    assert [line for line in said if "Failed to load" not in line] == []


def test_nothing_is_wider_than_the_screen_and_everything_has_a_name(browser, trained):
    page, said, _ = open_page(browser, trained)
    for width, scheme in itertools.product([390, 1200], ["light", "dark"]):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert beyond_the_screen(page, "main *") == [], (width, scheme)
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, input, canvas')].filter(e => "
        "!e.hidden && !(e.ariaLabel || e.textContent.trim() || e.labels?.length))"
        ".map(e => e.outerHTML)"
    )
    assert nameless == []
    assert said == []


def test_signs_are_drawn_between_digits_and_said_as_people_write_them(browser, tmp_path):
    experiment = fast().vary(operation="shown:+,-", samples=1, test_samples=2, epochs=1)
    folder = RunFolder.of(experiment, tmp_path)
    folder.create(experiment)
    complete_fold(folder.path, experiment, 1)
    path = tmp_path / "page.html"
    run = unseen.load(folder.path)
    path.write_bytes(render_page(run, run.networks())[0])
    page, said, _ = open_page(browser, path, viewport={"width": 390, "height": 800})
    assert page.locator("h1").inner_text() == "Draw two digits and the sign between them."
    assert page.locator(".try-here").all_inner_texts() == ["left digit", "sign", "right digit"]
    for place, name in enumerate("4-9"):
        page.locator(".try-claim select").nth(place).select_option(label=name)
    assert re.match(r"4 - 9 was (never )?seen", page.locator(".try-verdict").inner_text())
    assert page.locator(".try-mark").first.inner_text().startswith("−")
    assert page.locator(".pair-cell").count() == 0
    assert said == []


def test_the_published_page_is_small_and_answers_and_holds_every_pair_unseen_once(browser):
    assert PUBLISHED.stat().st_size < LARGEST_PAGE_BYTES
    data = data_of(PUBLISHED)
    assert data["answers"] == [left + right for left in range(10) for right in range(10)]
    rows = [row for fold in data["folds"] for row in fold["unseen"]]
    assert len(rows) == len({*rows}) == 10 * len(data["folds"])
    page, said, asked = open_page(browser, PUBLISHED)
    draw(page, 0, drawn(3))
    draw(page, 1, drawn(8))
    assert answer_of(page) == "11"
    assert said == []
    assert asked == []


def test_folds_that_do_not_fit_are_left_out_and_said(monkeypatch, capsys, tmp_path):
    run = unseen.load(EARLIER)
    whole, held = render_page(run, run.networks())
    assert held == 2
    monkeypatch.setattr("unseen.use.page.LARGEST_PAGE_BYTES", len(whole) - 20_000)
    path = tmp_path / "p.html"
    assert command(["export", str(EARLIER), "--page", str(path)]) == 0
    assert "the page has room for 1 of 2 folds" in capsys.readouterr().err
    assert len(data_of(path)["folds"]) == 1
    assert "1 network of 22,209 parameters, of 2 folds" in path.read_text()
    monkeypatch.setattr("unseen.use.page.LARGEST_PAGE_BYTES", 90_000)
    assert command(["export", str(EARLIER), "--page", str(tmp_path / "q.html")]) == 2
    assert "does not fit into a page" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["p.html"]


def test_what_has_no_page_says_why(monkeypatch, capsys, tmp_path):
    page = ["--page", str(tmp_path / "p.html")]
    assert command(["export", str(EARLIER.parent / "mean-ad017e54ed6e"), *page]) == 2
    assert "mean is a baseline: it has no network" in capsys.readouterr().err
    assert command(["export", str(EARLIER), "--page", str(tmp_path)]) == 2
    assert "cannot write" in capsys.readouterr().err
    monkeypatch.setattr("unseen.use.page.SIDE", 32)
    assert command(["export", str(EARLIER), *page]) == 2
    assert "these symbols have 28 × 28" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []
