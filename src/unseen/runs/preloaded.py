"""Imported by the process that workers are forked from: symbols unpacked once, shared by all."""

import os
from contextlib import suppress

from unseen.errors import UnseenError
from unseen.problem.symbols import load_symbols
from unseen.runs.local_workers import SYMBOLS_VARIABLE

if symbols := os.environ.get(SYMBOLS_VARIABLE):
    with suppress(UnseenError):  # a worker will say so
        load_symbols(symbols)
