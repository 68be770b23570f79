import logging
from pathlib import Path

import pytest
from browsers import open_page
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site as `make check` builds it; a link to nothing is an error there."""
    folder = tmp_path_factory.mktemp("site")
    logging.getLogger("mkdocs").setLevel(logging.ERROR)
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_every_page_stands_by_itself_in_a_browser(site, browser):
    pages = [each for each in sorted(site.glob("*.html")) if each.name not in ELSEWHERE]
    assert {"index.html", "commands.html", "lab.html", "architecture.html"} <= {
        each.name for each in pages
    }
    for each in pages:
        page, said, asked = open_page(browser, each, viewport={"width": 390, "height": 800})
        assert page.locator("h1").count() == 1, each.name
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, each.name
        assert said == asked == [], each.name
        page.close()


def test_every_command_is_in_the_reference(site):
    reference = (site / "commands.html").read_text()
    for command in ("run", "sweep", "predict", "doctor", "completion", "lab"):
        assert f'id="unseen-{command}"' in reference
    assert "--learning-rate" in reference


ELSEWHERE = ("404.html", "try.html", "example-report.html")  # not made by mkdocs, or no page
