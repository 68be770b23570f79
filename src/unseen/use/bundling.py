"""The scripts and styles of static/ as one text each, for a page that asks for no other file."""

import base64
import hashlib
import re
from importlib.resources import files


def page_style() -> str:
    """What the report looks like, and what is added to it."""
    report_css = files("unseen.report").joinpath("templates/report.css").read_text("utf-8")
    return "\n".join([report_css, _static("try.css"), _static("page.css")])


def bundled(name: str) -> str:
    """A module of static/ and all that it imports, as one script; names of modules stay apart."""
    made: dict[str, str] = {}

    def add(module: str) -> None:
        source = _static(module)
        for imported in re.findall(r'^import .* from "\./(.*)";$', source, re.MULTILINE):
            if imported not in made:
                add(imported)
        body = re.sub(r"^import .*\n", "", source, flags=re.MULTILINE)
        exported = re.findall(
            r"^export (?:async )?(?:const|function|class) (\w+)", body, re.MULTILINE
        )
        body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
        names = ", ".join(exported)
        made[module] = f"const {{ {names} }} = (() => {{\n{body}return {{ {names} }};\n}})();\n"

    add(name)
    return "\n" + "".join(made.values())


def _static(name: str) -> str:
    return files("unseen.lab").joinpath("static", name).read_text("utf-8")


def content_hash(text: str) -> str:
    """What a Content-Security-Policy knows an inline script or style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
