"""A network is shown some combinations of digits and only their results.

Does it get the combinations it has never seen?

    import unseen

    run = unseen.run("fast", operation="subtract", samples=100, folds=[1, 2])
    print(run)
"""

import importlib

# What is public is listed in __init__.pyi, for type checkers and for here. Each name is imported
# when it is first asked for: the command starts without them, and answers an early Ctrl-C.
with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOME = {line.split()[3]: line.split()[1] for line in _stub if line.startswith("from unseen")}
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'unseen' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:  # what a notebook completes
    return __all__
