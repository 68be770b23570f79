"""The Chromium of the system, for tests of pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


def go_without(what: str) -> NoReturn:
    """Skip a test that lacks something; in CI, which must have it, the test fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} (.ci/run must do that)")
    pytest.skip(what)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; where there is none, the test is skipped, and in CI it fails."""
    if not Path(CHROMIUM).exists():
        go_without("no chromium on this machine; apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"],
        )
        yield opened
        opened.close()


def open_page(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str], list[str]]:
    """The page, what it says to the console, and what it asks of others."""
    page = browser.new_page(**options)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request",
        lambda each: each.url.startswith(("file:", "data:")) or asked.append(each.url),
    )
    page.goto(path.as_uri())
    return page, said, asked


def beyond_the_screen(page: Any, among: str) -> list[str]:
    """The elements of a kind that reach further to the right than the screen."""
    return page.evaluate(
        "kind => [...document.querySelectorAll(kind)].filter(e => !e.closest('svg, dialog') && "
        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))",
        among,
    )
