"""What a user's own part does, as one sum: runs with another sum are other runs.

The sum covers the code of a function or class and whatever that code reads: constants, defaults,
closures, the arguments of partials, bases, attributes, and the globals that it names, as they are
now. Functions and classes that it uses are covered in the same way, but for those of installed
libraries, which count by name and version. Code counts as compiled: comments and layout do not
matter. A value that cannot be told from others, such as an open file, raises a CannotTellError.
"""

import dis
import functools
import hashlib
import importlib
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
TENSORS = ("torch.Tensor", "torch.nn.parameter.Parameter")  # by name: torch is not imported
# by these, code can reach what it does not name, or what another process does not have
HIDING = {"eval", "exec", "globals", "__import__", "import_module", "environ", "getenv"}
GENERATORS = {"default_rng", "Generator", "RandomState", "SeedSequence"}  # which are seeded
# attributes that the interpreter gives to classes: they say nothing of what a class does
ADDED_TO_CLASSES = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__"),
    *("__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__"),
    *("__annotations_cache__", "__abstractmethods__", "_abc_impl", "__classcell__"),
}
LIBRARY_PATHS = tuple(
    str(Path(path).resolve())
    for path in {
        *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        str(Path(__file__).parent),  # of this package
    }
)


class CannotTellError(Exception):
    """A value decides what a part does, and two of its kind cannot be told apart."""


def content_sha256(part: Any) -> str:
    """The sum of what a part does; a CannotTellError names the value that has none."""
    reader = _Reader(_module_of(part).partition(".")[0])
    try:
        reader.read(part)
    except CannotTellError:
        raise
    except Exception as error:  # nested without end, or of a kind that refuses to be read
        raise CannotTellError(f"something that cannot be read ({type(error).__name__})") from error
    return reader.sum.hexdigest()


class _Reader:
    """Feeds a sum with everything that a value is made of, each object once."""

    def __init__(self, package: str) -> None:
        self.sum = hashlib.sha256()
        self.package = package  # of the part itself: installed or not, it is read and not named
        self.numbers: dict[int, int] = {}  # of objects that were read, by id
        self.kept: list[Any] = []  # so that no id is given to a second object

    def note(self, *words: str | bytes) -> None:
        """Add words, each with its length, so that no two lists of words give the same sum."""
        for word in words:
            encoded = word.encode("utf-8", "surrogatepass") if isinstance(word, str) else word
            self.sum.update(b"%d:" % len(encoded) + encoded)

    def read(self, value: Any) -> None:
        if isinstance(value, PLAIN):
            text = value if isinstance(value, bytes) else repr(value)
            self.note(type(value).__name__, text)
        elif id(value) in self.numbers:
            self.note("again", str(self.numbers[id(value)]))
        else:
            self.numbers[id(value)] = len(self.numbers)
            self.kept.append(value)
            self.read_new(value)

    def read_new(self, value: Any) -> None:
        if isinstance(value, NAMED) and self.is_library(value):
            self.note("library", *_named(value))
            return
        if isinstance(value, types.FunctionType):
            self.read_globals(value)
        if isinstance(value, set | frozenset):
            parts: tuple[Any, ...] = tuple(sorted(map(self.sum_alone, value)))
        else:
            kind = type if isinstance(value, type) else type(value)
            parts = PARTS.get(kind, _copied)(value)
        self.note(type(value).__name__, str(len(parts)))
        for part in parts:
            self.read(part)

    def sum_alone(self, value: Any) -> str:
        """A value's own sum, for collections that have no order."""
        reader = _Reader(self.package)
        reader.read(value)
        return reader.sum.hexdigest()

    def read_globals(self, function: types.FunctionType) -> None:
        """Read the globals that a function names, and the modules that it imports."""
        codes = [*_codes(function.__code__)]
        names = {name for code in codes for name in code.co_names}
        if hidden := sorted(names & HIDING):
            raise CannotTellError(f"something by way of {hidden[0]}")
        for name in sorted(names & function.__globals__.keys()):
            self.note("global", name)
            self.read_global(function.__globals__[name], names)
        steps = (step for code in codes for step in dis.get_instructions(code))
        for name in sorted({str(step.argval) for step in steps if step.opname == "IMPORT_NAME"}):
            self.note("import", name)
            self.read_global(importlib.import_module(name), names)

    def read_global(self, value: Any, names: set[str]) -> None:
        """A global; of a module that is no library's, also what the code may take from it."""
        is_new = id(value) not in self.numbers
        is_module = isinstance(value, types.ModuleType)
        if is_module and (
            value.__name__ == "random"
            or (value.__name__ == "numpy" and "random" in names and not names & GENERATORS)
        ):
            raise CannotTellError(f"{value.__name__}'s random numbers, which have no seed here")
        self.read(value)
        if is_module and is_new and not self.is_library(value):
            for name in sorted(names & vars(value).keys()):
                self.note("of the module", name)
                self.read_global(vars(value)[name], names)

    def is_library(self, value: Any) -> bool:
        """Whether a module, function or class is an installed library's, and not the part's own."""
        if isinstance(value, types.BuiltinFunctionType):
            return isinstance(value.__self__, types.ModuleType | None)  # else an object's method
        name = _module_of(value)
        if name == "__main__" or (self.package and name.partition(".")[0] == self.package):
            return False
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if file is None:  # built in, or of a notebook
            return name in sys.builtin_module_names or hasattr(module, "__path__")
        return str(Path(file).resolve()).startswith(LIBRARY_PATHS)


def _module_of(value: Any) -> str:
    is_module = isinstance(value, types.ModuleType)
    return str((value.__name__ if is_module else getattr(value, "__module__", "")) or "")


def _named(value: Any) -> tuple[str, str, str]:
    """A library's object by module, name and version."""
    module = _module_of(value)
    return module, getattr(value, "__qualname__", ""), _version(module.partition(".")[0])


@functools.cache
def _version(package: str) -> str:
    try:
        return version(package)
    except (PackageNotFoundError, ValueError):
        return str(getattr(sys.modules.get(package), "__version__", ""))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code, and that of the functions within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _of_code(code: types.CodeType) -> tuple[Any, ...]:
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    words = repr((code.co_flags, code.co_argcount, *names))
    return code.co_code, words, code.co_exceptiontable, *code.co_consts


def _of_class(kind: type) -> tuple[Any, ...]:
    own = {name: each for name, each in vars(kind).items() if name not in ADDED_TO_CLASSES}
    return kind.__name__, type(kind), *kind.__bases__, *_flat(dict(sorted(own.items())))


def _of_function(function: types.FunctionType) -> tuple[Any, ...]:
    bound = (function.__defaults__, function.__kwdefaults__, function.__closure__)
    return function.__name__, function.__code__, *bound, vars(function)


def _flat(items: Any) -> tuple[Any, ...]:
    return tuple(each for pair in items.items() for each in pair)


def _copied(value: Any) -> tuple[Any, ...]:
    """Of any other object, the parts that copying it would take."""
    kind = f"{type(value).__module__}.{type(value).__name__}"
    if kind in TENSORS:
        return kind, value.detach().cpu().numpy()
    if isinstance(value, Iterator) or kind.startswith(("numpy.random.", "random.")):
        raise CannotTellError(f"a {type(value).__name__}, which changes as it is used")
    try:
        parts = value.__reduce_ex__(4)
    except Exception as error:
        raise CannotTellError(f"a {type(value).__name__}") from error
    if not isinstance(parts, str):
        return tuple([*each] if isinstance(each, Iterator) else each for each in parts)
    if hasattr(value, "__wrapped__"):
        return kind, value.__wrapped__
    raise CannotTellError(f"{kind} {parts}")  # a name, which says nothing of what it does


PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    type: _of_class,
    types.FunctionType: _of_function,
    types.CodeType: _of_code,
    types.ModuleType: lambda module: (module.__name__,),
    functools.partial: lambda made: (made.func, made.args, made.keywords),
    types.MethodType: lambda method: (method.__func__, method.__self__),
    types.CellType: lambda cell: (cell.cell_contents,),
    staticmethod: lambda method: (method.__func__,),
    classmethod: lambda method: (method.__func__,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    tuple: tuple,
    list: tuple,
    dict: _flat,
    types.MappingProxyType: _flat,
}
