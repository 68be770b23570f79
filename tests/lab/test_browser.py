"""The lab in a real browser: what a person does there, from choosing to sharing."""

import os
import re
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browsers import beyond_the_screen, go_without
from complete_folds import complete_fold
from lab_server import TINY, RunningLab, served_lab
from made_up_runs import made_up_run, noisy

from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder

SETUP = {"preset": "fast", **TINY}
PATIENCE = 90_000  # milliseconds, for a machine that others use too
WIDTHS = {"desktop": 1440, "tablet": 820, "phone": 360}


@pytest.fixture
def open_lab(browser):
    """Opens labs in tabs; at the end, none of them may have complained."""
    said = []
    refusal = "Failed to load resource: the server responded with a status of 400 (Bad Request)"

    def opened(lab: RunningLab, width: int = 1440, **state: object):
        page = browser.new_page(viewport={"width": width, "height": 900}, has_touch=width < 500)
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "request",
            lambda asked: asked.url.startswith((lab.url, "data:")) or said.append(asked.url),
        )
        page.goto(f"{lab.url}#{urlencode(state)}" if state else lab.url)
        page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    for context in browser.contexts:
        context.close()
    assert [each for each in said if each != refusal] == []  # which the page says in words


def cell(page, left: int, right: int):
    return page.locator(f"#grid td[data-row='{10 * left + right}']")


def unseen(page) -> list[str]:
    return [each.get_attribute("data-row") for each in page.locator("#grid td.unseen").all()]


def trained_run(lab: RunningLab, fold: int = 1, **settings: object) -> RunFolder:
    """A small run, trained here."""
    experiment = fast().vary(**TINY, **settings)
    folder = RunFolder.of(experiment, lab.runs)
    folder.create(experiment)
    complete_fold(folder.path, experiment, fold)
    return folder


def train(page) -> None:
    page.click("#start")
    page.wait_for_selector("#verdict a")


def test_a_person_chooses_guesses_watches_rewinds_and_asks(lab, open_lab):  # noqa: PLR0915
    page = open_lab(lab, **SETUP, seed=11)
    assert len(unseen(page)) == 10
    page.click("#clear")
    page.wait_for_selector("#grid td.unseen", state="detached")
    assert page.locator("#start").is_disabled()
    # by dragging, by a click, by the keyboard
    first, last = (cell(page, 2, right).bounding_box() for right in (2, 5))
    page.mouse.move(first["x"] + 5, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(last["x"] + 5, last["y"] + 5, steps=6)
    page.mouse.move(last["x"] + 5, 5)  # let go of outside of the grid
    page.mouse.up()
    cell(page, 9, 9).hover()
    cell(page, 7, 7).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    page.wait_for_selector("#leakage:has-text('6 unseen combinations')")
    assert unseen(page) == ["22", "23", "24", "25", "77", "78"]
    assert cell(page, 7, 8).get_attribute("aria-label") == "7 and 8, answer 15, unseen"
    page.locator("#guess").fill("70")
    assert "guess=70" in page.url
    assert "split=2.2_2.3_2.4_2.5_7.7_7.8" in page.url
    train(page)
    assert "You guessed 70 %; it got" in page.locator("#verdict").inner_text()
    assert page.locator("#right-guess").inner_text() == "70 %"
    # the history: the grid and the samples are others at its beginning
    slider = page.locator("#slider")
    assert int(slider.get_attribute("max")) >= 5

    def shown() -> list[str]:
        return [page.locator(each).inner_text() for each in ("#grid", "#samples", "#moment")]

    assert "100 % of training" in page.locator("#moment").inner_text()
    end = shown()
    slider.fill("0")
    assert all(now != then for now, then in zip(shown(), end, strict=True))
    slider.fill(slider.get_attribute("max"))
    assert shown() == end
    page.hover("#curve", position={"x": 60, "y": 100})
    assert re.match(r"\d+ % of training, .* · unseen .* · seen", page.locator(".tip").inner_text())
    # a cell, by the keyboard
    cell(page, 2, 5).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".histogram")
    told = page.locator("#cell-dialog").inner_text()
    assert "(2, 5) = 7 never seen in training" in told
    assert "misread left" in told
    assert "unseen run fast --split '2 2; 2 3; 2 4; 2 5; 7 7; 7 8'" in told
    page.keyboard.press("Escape")
    cell(page, 0, 0).click()
    page.wait_for_selector("#cell-title:has-text('(0, 0) = 0 seen in training')")
    page.keyboard.press("Escape")
    # back to choosing, while the history plays: the colours go, the pairs stay
    page.click("#play")
    page.click("#change")
    page.wait_for_selector("#grid .pairs:not(.coloured)")
    assert len(unseen(page)) == 6
    # and to the history again, which plays as before
    page.click("#show-run")
    page.wait_for_selector("#verdict a")
    page.click("#play")
    page.wait_for_selector("#moment:not(:has-text('100 %'))")


def test_the_first_view_stands_before_the_lab_has_answered(lab, browser):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    asked, answers = [], False
    page.route("**/api/*", lambda route: route.continue_() if answers else asked.append(route))
    page.goto(lab.url, wait_until="commit")
    page.wait_for_selector("#grid[aria-busy] td[data-row='99']")
    assert page.locator("#start").is_disabled()
    assert all(each.text_content().strip() for each in page.locator("#choose select").all())
    assert "Start a training" in page.locator("#try-network").inner_text()
    answers = True
    for route in asked:
        route.continue_()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#grid[aria-busy]").count() == 0
    assert page.locator("#grid td[data-row='99']").inner_text() == "18"


def test_an_address_sets_up_the_same_experiment_in_another_lab(lab, open_lab, browser, tmp_path):
    page = open_lab(lab, **SETUP, seed=12, split="3.8_4.1", operation="a*b", guess=40)
    page.click("#open-share")
    address = page.locator("#share-address").input_value()
    command = page.locator("#share-command").input_value()
    assert command.startswith("unseen run fast --operation 'a * b' --split '3 8; 4 1'")
    page.click("text=Copy as command")
    page.wait_for_selector("#copied:has-text('Copied')")
    # the other lab has a run of this experiment already, which it finds only by the same settings
    experiment = fast().vary(split=[(3, 8), (4, 1)], operation="a*b", seed=12, **TINY)
    made = made_up_run(tmp_path, experiment, noisy)
    with served_lab(tmp_path) as other:
        there = browser.new_page()
        there.goto(address.replace(lab.url.rstrip("/"), other.home))
        there.wait_for_selector("#verdict:has-text('You guessed 40 %')")
        assert there.locator("#question").inner_text().startswith("Can a network work out a * b")
        assert there.locator("#seed").input_value() == "12"
        assert unseen(there) == ["38", "41"]
        there.click("#open-share")
        assert there.locator("#share-command").input_value() == command
        shared = there.locator("#share-address").input_value()
        assert shared.partition("#")[2] == address.partition("#")[2]
        there.close()  # it would ask a lab that has ended
    assert made.guess() is None  # looking changes nothing


def test_a_training_is_stopped_found_again_and_gone_on_with(lab, open_lab):
    page = open_lab(lab, **{**SETUP, "samples": 20}, seed=13, epochs=3000, split="0.1_1.0")
    page.click("#start")
    page.wait_for_selector("#moment:not(:empty)")
    assert page.locator("#stop").is_visible()
    page.close()  # which stops nothing
    page = open_lab(lab)
    page.wait_for_selector("#moment:not(:empty)")
    assert page.locator("#seed").input_value() == "13"
    # meanwhile another choice can be made, and the training shown again
    page.locator("#seed").fill("14")
    page.wait_for_selector("#elsewhere:not([hidden])")
    assert page.locator("#start").is_disabled()
    page.click("#elsewhere button")
    page.wait_for_selector("#moment:not(:empty)")
    page.click("#stop")
    page.wait_for_selector("#status:has-text('Stopped. What it has learnt so far answers')")
    draw(page)
    page.wait_for_selector(".try-rounded")
    page.wait_for_selector("#start:not([disabled])")
    assert page.locator("#start").inner_text() in page.locator("#status").inner_text()
    page.click("#start")
    page.wait_for_selector("#status:has-text('It learns')")
    page.click("#stop")
    page.wait_for_selector("#status:has-text('Stopped')")


def test_the_keyboard_reaches_the_cells_of_every_grid(lab, open_lab):
    page = open_lab(lab, **SETUP, operation="shown:+,-")
    page.click("#clear")
    page.locator("#grid td[tabindex='0']").focus()
    for _ in range(11):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    page.wait_for_selector("#leakage:has-text('2 unseen combinations')")
    chosen = page.locator("#grid td.unseen").all()
    labels = {each.get_attribute("aria-label") for each in chosen}
    assert labels == {"9 and + and 0, answer 9, unseen", "1 and - and 0, answer 1, unseen"}


def test_a_network_that_answers_nan_says_so_wherever_it_is_asked(lab, open_lab):
    diverging = {"learning_rate": 1e30, "optimizer": "adadelta", "seed": 23}
    trained_run(lab, split=[(1, 1)], **diverging)
    page = open_lab(lab, **SETUP, split="1.1", **diverging)
    page.wait_for_selector("#curve-caption:has-text('Training diverged')")
    draw(page)
    page.wait_for_selector("#try-network:has-text('The network answers NaN')")
    page.wait_for_selector(".try-said:has-text('No answer.')")
    cell(page, 0, 0).click()
    page.wait_for_selector("#cell-body:has-text('NaN in all')")


def draw(page) -> None:
    """A 1 into each square."""
    for pad in page.locator(".try-pad").all():
        pad.scroll_into_view_if_needed()
        box = pad.bounding_box()
        middle = box["x"] + box["width"] / 2
        page.mouse.move(middle, box["y"] + 0.2 * box["height"])
        page.mouse.down()
        page.mouse.move(middle, box["y"] + 0.8 * box["height"], steps=5)
        page.mouse.up()


def test_pairs_of_ones_own_begin_from_those_that_a_split_has(lab, open_lab):
    page = open_lab(lab, **SETUP, split="mirror", fold=3, unseen=20, guess="much")
    assert page.locator("#guess-value").inner_text() == "?"
    before = unseen(page)
    assert len(before) == 20
    page.select_option("#split", "own")
    page.wait_for_selector("#fold-field", state="hidden")
    assert unseen(page) == before
    page.click("#clear")
    page.wait_for_selector("#open-share[disabled]")
    page.locator("#guess").fill("44")
    address = page.url
    assert "split" not in address  # an address in which nothing is unseen could not be opened
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#leakage:has-text('10 unseen combinations')")
    assert page.locator("#guess-value").inner_text() == "44"


def test_faults_are_said_beside_what_is_typed(lab, open_lab):
    page = open_lab(lab, **SETUP)
    page.select_option("#operation", "expression")
    page.locator("#expression").fill("a +")
    page.wait_for_selector("#error-operation:has-text('is no arithmetic expression')")
    assert page.locator("#start").is_disabled()
    page.locator("#expression").fill("a - b")
    page.wait_for_selector("#error-operation", state="hidden")
    page.wait_for_selector("#question:has-text('work out a - b')")
    page.locator("#seed").fill("-3")
    page.wait_for_selector("#error-other:has-text('seed')")
    page.locator("#seed").fill("3")
    page.wait_for_selector("#error-other", state="hidden")
    page.select_option("#split", "position")
    page.wait_for_selector("#leakage .warning")
    assert page.locator("#grid td.open").count() == 10
    page.select_option("#fold", "20")
    page.wait_for_selector("#grid td.unseen[data-row='99']")
    refused = open_lab(lab, preset="fast", split="/etc/passwd")
    assert "cannot be used" in refused.locator("#fault").inner_text()
    assert len(unseen(refused)) == 10


def test_runs_are_listed_reopened_and_compared(lab, open_lab):
    for seed in (15, 16):
        folder = trained_run(lab, fold=2, seed=seed)
        (folder.path / "folds/01").mkdir()  # begun and left
    page = open_lab(lab, **SETUP, guess=80)
    page.click("#open-runs")
    page.wait_for_selector(".runs li")
    with page.expect_popup() as popup:
        page.locator(".runs a").first.click()
    popup.value.wait_for_load_state()  # else only what has come so far is read
    assert "What was run" in popup.value.locator("main").inner_text()
    popup.value.close()
    for number in (0, 1):
        page.locator(".runs input").nth(number).check()
    page.click("text=Compare two")
    page.wait_for_selector("#compare-body .pairs.coloured >> nth=1")
    assert "points" in page.locator("#compare-body > p").first.inner_text()
    assert page.locator("#compare-body .verdict:has-text('(fold 2)')").count() == 2
    page.keyboard.press("Escape")
    page.click("#open-runs")
    page.locator(".runs .open").first.click()
    page.wait_for_selector("#verdict a")
    assert page.locator("#seed").input_value() == "16"
    assert "guess" not in page.locator("#verdict").inner_text()  # which was about another run


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_page_stands_at_every_width(lab, open_lab, width):
    page = open_lab(lab, width, **SETUP, seed=17)
    if page.locator("#start").is_visible():
        train(page)
    page.wait_for_selector("#verdict a")
    assert beyond_the_screen(page, "body *:not(.visually-hidden, .skip, .try-live)") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if folder := os.environ.get("LAB_SCREENSHOTS"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=f"{folder}/{width}-{scheme}.png", full_page=True)
    tops = [page.locator(f"#{each}").bounding_box()["y"] for each in ("choose", "watch", "try")]
    if width == WIDTHS["phone"]:
        assert tops == sorted({*tops})
        box = cell(page, 3, 3).bounding_box()
        assert min(box["width"], box["height"]) > 20
        cell(page, 3, 3).tap()
        drawn = page.wait_for_selector(".histogram")
        assert drawn.evaluate("it => it.viewBox.baseVal.width / it.clientWidth") < 1.05
        page.keyboard.press("Escape")
        page.click("#change")
        page.wait_for_selector("#grid .pairs:not(.coloured)")
        before = unseen(page)
        cell(page, 0, 0).tap()
        page.wait_for_selector("#grid td.unseen[data-row='0']")
        assert len(unseen(page)) == len(before) + 1
    elif width == WIDTHS["desktop"]:
        assert max(tops) - min(tops) < 2


@pytest.fixture
def axe() -> str:
    """The script of axe-core, which `make check` fetches where npm is there."""
    script = Path(sys.prefix) / "node/node_modules/axe-core/axe.min.js"
    if not script.is_file():
        go_without("no axe-core; make check fetches it with npm")
    return script.read_text()


def test_axe_finds_no_serious_fault(lab, browser, axe):
    context = browser.new_context(bypass_csp=True)  # axe comes from outside
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{lab.url}#{urlencode({**SETUP, 'seed': 18})}")
    page.wait_for_selector("html[data-ready]")
    page.evaluate(axe)

    def faults() -> list[str]:
        found = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += page.evaluate("axe.run().then((all) => all.violations)")
        return [
            f"{each['id']}: {each['nodes'][0]['html'][:150]} {each['nodes'][0]['failureSummary']}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]

    assert faults() == []
    if page.locator("#start").is_visible():
        train(page)
    page.wait_for_selector("#verdict a")
    assert faults() == []
    cell(page, 0, 6).click()
    page.wait_for_selector(".histogram")
    assert faults() == []
    page.keyboard.press("Escape")
    page.click("#open-runs")
    page.wait_for_selector(".runs li")
    assert faults() == []
