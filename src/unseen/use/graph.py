"""A trained network as a list of simple operations, which a page can do without torch.

The network answers one picture while every operation of torch's is written down. What does not
depend on the picture (a rule, a softmax of weights) has been computed by then and is a constant.
`static/network.js` does the operations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from unseen.errors import UnseenError

Numbers = NDArray[np.float32]
Step = dict[str, Any]  # {"do": name, "in": [numbers of values], "shape": [...], and its settings}
Inputs = list[Tensor | float]
Described = tuple[Step, Inputs]


@dataclass(frozen=True)
class Call:
    """One operation of torch's on a value that depends on the picture."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    made: Tensor
    step: Step
    inputs: Inputs


@dataclass(frozen=True)
class Graph:
    """Values are numbered: first the picture, then the constants, then what each step makes."""

    picture: Tensor  # (1, 1, height, width): the one that the network was shown
    inputs: list[Tensor | float]  # that do not depend on it
    calls: list[Call]

    @cached_property
    def constants(self) -> list[Numbers]:
        return [_numbers(each) for each in self.inputs]

    @cached_property
    def steps(self) -> list[Step]:
        """What is done, in order; plain data for JSON."""
        numbers = {id(each): number for number, each in enumerate([self.picture, *self.inputs])}
        steps = []
        for call in self.calls:
            steps.append(call.step | {"in": [numbers[id(each)] for each in call.inputs]})
            numbers[id(call.made)] = len(numbers)
        return steps

    def answer(self, picture: Numbers, constants: list[Numbers]) -> float:
        """What torch answers to one picture (height, width) in 0 to 1, with other constants."""
        values: dict[int, Any] = {id(self.picture): torch.as_tensor(picture)[None, None]}
        for given, numbers in zip(self.inputs, constants, strict=True):
            values[id(given)] = torch.as_tensor(numbers)
        for call in self.calls:
            args, kwargs = tree_map(
                lambda each: values.get(id(each), each), (call.args, call.kwargs)
            )
            made = call.function(*args, **kwargs)
            values[id(call.made)] = made[0] if isinstance(made, tuple) else made
        return float(values[id(self.calls[-1].made)])


def record(network: nn.Module, height: int, width: int) -> Graph:
    """The operations by which a network answers one picture of this size."""
    # neither all black nor all alike: constant pictures could hide what depends on them
    example = torch.linspace(0, 1, height * width).view(1, 1, height, width)
    recorder = _Recorder(example)
    with torch.no_grad(), recorder:
        answer = network.eval()(example)
    calls = recorder.calls
    if not calls or calls[-1].made is not answer:
        raise UnseenError("this network computes outside torch; a page cannot follow it")
    inputs = {id(each): each for call in calls for each in call.inputs}
    return Graph(
        example, [each for each in inputs.values() if id(each) not in recorder.made], calls
    )


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operation on a value that depends on the picture."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and importing what could takes seconds

    def __init__(self, picture: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Call] = []
        self.made = {id(picture)}
        self.kept: list[Any] = []  # so that no id is given to a second tensor

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        self.kept.append((args, kwargs, result))
        if any(id(each) in self.made for each in tree_leaves((args, kwargs))):
            name = str(function).removeprefix("aten.").partition(".")[0]
            if name not in STEPS:
                raise UnseenError(f"this network has an operation that a page cannot do: {name}")
            made = result[0] if isinstance(result, tuple) else result
            step, inputs = STEPS[name](*args, **kwargs)
            step |= {"shape": list(made.shape)}
            self.calls.append(Call(function, args, kwargs, made, step, inputs))
            self.made.add(id(made))
        return result


def _numbers(value: Tensor | float) -> Numbers:
    numbers: Numbers = torch.as_tensor(value).detach().to(torch.float32).contiguous().numpy()
    return numbers


def _elementwise(name: str) -> Callable[..., Described]:
    def describe(*inputs: Tensor | float, alpha: float = 1) -> Described:
        if alpha != 1:
            raise UnseenError("this network adds multiples, which a page cannot do")
        return {"do": name}, [*inputs]

    return describe


def _power(value: Tensor, exponent: float) -> Described:
    if exponent != 2:
        raise UnseenError("this network has powers that a page cannot do: only squares")
    return {"do": "mul"}, [value, value]


def _same(value: Tensor, *_: Any, **__: Any) -> Described:
    return {"do": "same"}, [value]


def _moved(function: Callable[..., Tensor]) -> Callable[..., Described]:
    """Any way to look at the same numbers: where the first is, and how far to the next."""

    def describe(value: Tensor, *args: Any, **kwargs: Any) -> Described:
        seen = function(torch.empty(value.shape), *args, **kwargs)
        place = {"strides": list(seen.stride()), "offset": seen.storage_offset()}
        return {"do": "view", **place}, [value]

    return describe


def _convolution(value: Tensor, weights: Tensor, bias: Tensor | None, *how: Any) -> Described:
    stride, padding, dilation, transposed, _, groups = how
    if value.ndim != 4 or transposed or groups != 1 or set(dilation) != {1}:
        raise UnseenError(
            "this network has a convolution that a page cannot do: only plain ones over pictures"
        )
    step = {"do": "convolve", "stride": list(stride), "padding": list(padding)}
    return step, [value, weights, torch.zeros(len(weights)) if bias is None else bias]


def _pool(value: Tensor, size: list[int], stride: list[int] | None = None, *how: Any) -> Described:
    all_of_it: tuple[Any, ...] = (*how, *([0], [1], False)[len(how) :])
    padding, dilation, ceil_mode = all_of_it
    if value.ndim != 4 or {*padding} != {0} or {*dilation} != {1} or ceil_mode:
        raise UnseenError("this network pools in a way that a page cannot: only without padding")
    return {"do": "pool", "size": list(size), "stride": list(stride or size)}, [value]


def _affine(bias: Tensor, value: Tensor, weights: Tensor, *, beta: int = 1, alpha: int = 1) -> Any:
    if (beta, alpha) != (1, 1):
        raise UnseenError("this network adds multiples, which a page cannot do")
    return {"do": "affine"}, [value, weights, bias]


def _product(value: Tensor, weights: Tensor) -> Described:
    return {"do": "affine"}, [value, weights, torch.zeros(weights.shape[1])]


def _reduced(name: str) -> Callable[..., Described]:
    """A sum, a maximum, … over some axes, by default over all."""

    def describe(value: Tensor, axes: Any = None, keep: bool = False, **_: Any) -> Described:
        given = range(value.ndim) if axes in (None, []) else np.atleast_1d(axes)
        return {"do": name, "axes": sorted(int(axis) % value.ndim for axis in given)}, [value]

    return describe


def _softmax(name: str) -> Callable[..., Described]:
    def describe(value: Tensor, axis: int, _: bool) -> Described:
        return {"do": name, "axes": [axis % value.ndim]}, [value]

    return describe


def _joined(values: list[Tensor], axis: int = 0) -> Described:
    return {"do": "join", "axis": axis % values[0].ndim}, [*values]


def _looked_up(table: Tensor, places: list[Tensor | None]) -> Described:
    if table.ndim != 1 or len(places) != 1 or places[0] is None:
        raise UnseenError("this network looks up rows, which a page cannot do: only numbers")
    return {"do": "look_up"}, [table, places[0]]


STEPS: dict[str, Callable[..., Described]] = {
    "convolution": _convolution,
    "max_pool2d_with_indices": _pool,
    "addmm": _affine,
    "mm": _product,
    **{
        name: _elementwise(name)
        for name in (
            *("relu", "tanh", "sigmoid", "silu", "exp", "log", "sqrt", "abs", "neg"),
            *("add", "sub", "mul", "div", "maximum", "minimum"),
        )
    },
    **{name: _reduced(name) for name in ("sum", "mean", "amax", "logsumexp", "argmax")},
    "_softmax": _softmax("softmax"),
    "_log_softmax": _softmax("log_softmax"),
    "pow": _power,
    "cat": _joined,
    "index": _looked_up,
    **dict.fromkeys(("clone", "_to_copy", "detach", "alias", "contiguous"), _same),
    "view": _moved(lambda value, shape: value.view(shape)),
    "_unsafe_view": _moved(lambda value, shape: value.view(shape)),
    "unsqueeze": _moved(torch.unsqueeze),
    "squeeze": _moved(torch.squeeze),
    "transpose": _moved(torch.transpose),
    "t": _moved(torch.t),
    "permute": _moved(torch.permute),
    "select": _moved(torch.select),
    "slice": _moved(torch.ops.aten.slice.Tensor),
    "expand": _moved(lambda value, shape, **_: value.expand(shape)),
}
