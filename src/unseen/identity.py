"""What a part of somebody else's does, as one sum: runs with another sum are other runs.

The sum covers the code of a function or class and whatever that code reads: constants, defaults,
closures, the arguments of partials, bases, attributes, and the globals that it names, as they are
now. Functions and classes that it uses are covered in the same way, but for those of installed
libraries, which count by name and version. Code counts as compiled: comments and layout do not
matter. Where a value cannot be told, such as an open file or a random generator, so it is said.
"""

import copyreg
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
from pathlib import Path, PurePath
from typing import Any

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
# By these code can reach what it does not name, or what another process does not have.
HIDING = {
    *("eval", "exec", "globals", "__import__", "import_module", "environ", "getenv"),
}
GENERATORS = {"default_rng", "Generator", "RandomState", "SeedSequence"}  # which are seeded
# Of a class, names that the interpreter adds: they say nothing of what it does.
ADDED_TO_CLASSES = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__"),
    *("__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__"),
    *("__annotations_cache__", "__abstractmethods__", "_abc_impl", "__classcell__"),
}
LIBRARY_PATHS = tuple(
    str(Path(path).resolve())
    for path in {
        *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *(site.getsitepackages() if hasattr(site, "getsitepackages") else []),
        str(Path(__file__).parent),  # of this package
    }
)


class CannotTellError(Exception):
    """A value decides what a part does, and two of its kind cannot be told apart."""


def content_sha256(part: Any) -> str:
    """The sum of what a part does; a CannotTellError names the value that has none."""
    reader = _Reader(_top_package(part))
    try:
        reader.read(part)
    except CannotTellError:
        raise
    except Exception as error:  # nested without end, or of a kind that refuses to be read
        raise CannotTellError(f"something that cannot be read ({type(error).__name__})") from error
    return reader.sum.hexdigest()


def _top_package(part: Any) -> str:
    return str(getattr(part, "__module__", None) or "").partition(".")[0]


class _Reader:
    """Feeds a sum with everything that a value is made of, each object once."""

    def __init__(self, package: str) -> None:
        self.sum = hashlib.sha256()
        self.package = package  # of the part itself: installed or not, it is read and not named
        self.numbers: dict[int, int] = {}  # of objects that were read, by id
        self.kept: list[Any] = []  # so that no id is given to a second object

    def read(self, value: Any) -> None:
        if isinstance(value, PLAIN):
            self.note(type(value).__name__, repr(value))
        elif id(value) in self.numbers:
            self.note("again", str(self.numbers[id(value)]))
        else:
            self.numbers[id(value)] = len(self.numbers)
            self.kept.append(value)
            self.read_new(value)

    def note(self, *words: str) -> None:
        """Add words, each with its length, so that no two lists of words give the same sum."""
        for word in words:
            encoded = word.encode("utf-8", "surrogatepass")
            self.sum.update(b"%d:" % len(encoded) + encoded)

    def read_all(self, kind: str, *values: Any) -> None:
        self.note(kind, str(len(values)))
        for value in values:
            self.read(value)

    def read_new(self, value: Any) -> None:
        if children := CHILDREN.get(type(value)):
            self.read_all(type(value).__name__, *children(value))
            return
        match value:
            case type() | types.FunctionType() | types.ModuleType() | types.BuiltinFunctionType():
                self.read_named(value)
            case types.CodeType():
                self.read_code(value)
            case set() | frozenset():
                self.note("set", *sorted(self.sum_alone(each) for each in value))
            case PurePath():
                self.note("path", str(value))
            case _:
                self.read_object(value)

    def read_named(self, value: Any) -> None:
        """A function, class or module: a library's by its name, others by what they hold."""
        bound = getattr(value, "__self__", None)
        if isinstance(value, types.BuiltinFunctionType) and not isinstance(
            bound, types.ModuleType | None
        ):
            self.read_all("method", value.__name__, bound)
        elif isinstance(value, types.BuiltinFunctionType) or self.is_library(value):
            self.note("library", *named(value))
        elif isinstance(value, types.FunctionType):
            self.read_function(value)
        elif isinstance(value, type):
            self.read_class(value)
        else:
            self.note("module", value.__name__)

    def sum_alone(self, value: Any) -> str:
        """A value's own sum, for collections that have no order."""
        reader = _Reader(self.package)
        reader.read(value)
        return reader.sum.hexdigest()

    def read_function(self, function: types.FunctionType) -> None:
        self.note("function", function.__name__)
        self.read(function.__code__)
        self.read_all(
            "bound", function.__defaults__, function.__kwdefaults__, function.__closure__ or ()
        )
        attributes = {name: each for name, each in vars(function).items() if name != "__wrapped__"}
        self.read_all("attributes", *_flat(attributes))
        names = _names(function.__code__)
        if hidden := sorted(names & HIDING):
            raise CannotTellError(f"something by way of {hidden[0]}")
        for name in sorted(names & function.__globals__.keys()):
            self.note("global", name)
            self.read_global(function.__globals__[name], names)
        for name in sorted(_imports(function.__code__)):
            try:
                module = importlib.import_module(name)
            except Exception as error:
                raise CannotTellError(f"the module {name}, which cannot be imported") from error
            self.note("import", name)
            self.read_global(module, names)

    def read_global(self, value: Any, names: set[str]) -> None:
        """A global; of a module of somebody's own, also what the code may take from it."""
        if isinstance(value, types.ModuleType):
            if value.__name__ == "random" or (
                value.__name__ == "numpy" and "random" in names and not names & GENERATORS
            ):
                raise CannotTellError(f"{value.__name__}'s random numbers, which have no seed here")
            if id(value) in self.numbers:
                return
        self.read(value)
        if isinstance(value, types.ModuleType) and not self.is_library(value):
            for name in sorted(names & vars(value).keys()):
                self.note("of the module", name)
                self.read_global(vars(value)[name], names)

    def read_code(self, code: types.CodeType) -> None:
        self.note("code", code.co_code.hex(), repr(code.co_flags), repr(code.co_argcount))
        self.note(*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        self.note(getattr(code, "co_exceptiontable", b"").hex())
        self.read_all("constants", *code.co_consts)

    def read_class(self, kind: type) -> None:
        self.note("class", kind.__name__)
        self.read_all("bases", type(kind), *kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            if name not in ADDED_TO_CLASSES:
                self.note("attribute", name)
                self.read(value)

    def read_object(self, value: Any) -> None:
        """Any other object: an array by its bytes, others by the parts that copying would take."""
        kind = f"{type(value).__module__}.{type(value).__name__}"  # nothing is imported for it
        if kind in ("torch.Tensor", "torch.nn.parameter.Parameter"):
            value = value.detach().cpu().contiguous()
            self.note(kind, str(value.dtype), str(tuple(value.shape)))
            self.sum.update(bytes(value.clone().untyped_storage()))  # of a view, its part alone
            return
        if kind == "numpy.ndarray" and value.dtype != object:
            self.note(kind, str(value.dtype), str(value.shape))
            self.sum.update(value.tobytes())
            return
        if isinstance(value, Iterator) or kind.startswith(("numpy.random.", "random.")):
            raise CannotTellError(f"a {type(value).__name__}, which changes as it is used")
        try:
            parts = value.__reduce_ex__(4)
        except Exception as error:
            raise CannotTellError(f"a {type(value).__name__}") from error
        if isinstance(parts, str):  # as it is pickled: a name, which says nothing of what it does
            if (wrapped := getattr(value, "__wrapped__", None)) is None:
                raise CannotTellError(f"{kind} {parts}")
            self.read_all("wrapped", type(value).__name__, wrapped)
            return
        make, arguments, *rest = parts
        self.note("object")
        self.read(make if make is not copyreg.__newobj__ else "new")  # type: ignore[attr-defined]
        self.read(arguments)
        for each in rest:
            self.read([*each] if isinstance(each, Iterator) else each)

    def is_library(self, value: Any) -> bool:
        """Whether a module, function or class is an installed library's, and not the part's own."""
        name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
        name = str(name or "")
        if name == "builtins":
            return True
        if name == "__main__" or (self.package and name.partition(".")[0] == self.package):
            return False
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if file is None:  # built in, or made up by whoever runs a notebook
            return name in sys.builtin_module_names or hasattr(module, "__path__")
        return str(Path(file).resolve()).startswith(LIBRARY_PATHS)


def named(value: Any) -> tuple[str, str, str]:
    """A library's object by module, name and version."""
    module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__ or ""
    return module, getattr(value, "__qualname__", ""), _version(module.partition(".")[0])


@functools.cache
def _version(package: str) -> str:
    try:
        return version(package)
    except (PackageNotFoundError, ValueError):
        return str(getattr(sys.modules.get(package), "__version__", ""))


def _names(code: types.CodeType) -> set[str]:
    """The names that code reads from outside, those of functions within it among them."""
    within = (_names(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return {*code.co_names}.union(*within)


def _imports(code: types.CodeType) -> set[str]:
    """The modules that code imports when it runs, code within it among it."""
    within = (_imports(each) for each in code.co_consts if isinstance(each, types.CodeType))
    steps = dis.get_instructions(code)
    own = {str(step.argval) for step in steps if step.opname == "IMPORT_NAME"}
    return own.union(*within)


def _cell_contents(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # nothing in it yet
        return ()


def _flat(items: Any) -> tuple[Any, ...]:
    return tuple(each for pair in items.items() for each in pair)


CHILDREN: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    types.MethodType: lambda value: (value.__func__, value.__self__),
    staticmethod: lambda value: (value.__func__,),
    classmethod: lambda value: (value.__func__,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    types.CellType: _cell_contents,
    tuple: tuple,
    list: tuple,
    dict: _flat,
    types.MappingProxyType: _flat,
}
