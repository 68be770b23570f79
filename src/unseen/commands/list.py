"""`unseen list`: what can be chosen."""

import json as json_module
from typing import Annotated

from cyclopts import Parameter

from unseen.commands.output import AsJson, emit
from unseen.errors import unknown
from unseen.report.catalogues import CATALOGUES, catalogue_tables


def catalogue(
    what: Annotated[
        str | None, Parameter(help="One of: " + ", ".join(CATALOGUES) + "; by default all.")
    ] = None,
    /,
    *,
    json: AsJson = False,
) -> None:
    if what is not None and what not in CATALOGUES:
        raise unknown("catalogue", what, CATALOGUES)
    chosen = {name: make() for name, make in CATALOGUES.items() if what in (None, name)}
    emit(json_module.dumps(chosen, indent=2) if json else catalogue_tables(chosen))
