"""Pages without a server that tests open, and what they hold."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs/try.html"
EARLIER = ROOT / "tests/data/runs/fast-81afcdf4e08a"  # two folds of `fast`, hardly trained


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    assert found is not None
    return json.loads(found[1])


def font_picture(digit: int, font: str) -> np.ndarray:
    """A digit as printed, dark on light, not in the middle."""
    package = find_spec("matplotlib")
    assert package is not None
    assert package.origin is not None
    file = Path(package.origin).parent / f"mpl-data/fonts/ttf/{font}.ttf"
    picture = Image.new("L", (120, 120), 235)
    ImageDraw.Draw(picture).text((36, 4), str(digit), 20, ImageFont.truetype(str(file), 84))
    return np.asarray(picture)
