"""A hook of mkdocs: the page of all commands, made from the code when the site is built."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from unseen.cli import app

HEADING = "# Commands\n\nMade from the program: `unseen COMMAND --help` prints the same.\n\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    reference = app.generate_docs(output_format="markdown", heading_level=1)
    reference = reference[reference.index("## unseen run") :]  # the site has its own contents
    files.append(File.generated(config, "commands.md", content=HEADING + reference))
    return files
