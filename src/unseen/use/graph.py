"""A trained network as a list of simple operations, which a page can do without torch.

The network answers one picture while every operation of torch's is written down. What does not
depend on the picture (a rule, a softmax of weights) has been computed by then and is a constant.
`lab/static/network.js` does the operations.
"""

import base64
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from unseen.errors import UnseenError

# Plain data for JSON. A step is {"do": name, "in": [numbers of values], "shape": […]} and its
# settings; a constant is {"shape": […], "float16" or "float32": base64}.
Value = dict[str, Any]
Described = tuple[Value, Sequence[Tensor | float]]  # settings of a step, and what it is done with


def record(network: nn.Module, height: int, width: int) -> list[Value]:
    """The constants and steps by which a network answers one picture of this size.

    Values are numbered: 0 is the picture, and the first of this list is 1.
    """
    # neither all black nor all alike: constant pictures could hide what depends on them
    example = torch.linspace(0, 1, height * width).view(1, 1, height, width)
    recorder = _Recorder(example)
    with torch.no_grad(), recorder:
        answer = network.eval()(example)
    if not recorder.values or recorder.numbers.get(id(answer)) != len(recorder.values):
        raise UnseenError("this network computes outside torch; a page cannot follow it")
    return recorder.values


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operation on a value that depends on the picture."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and importing what could takes seconds

    def __init__(self, picture: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.values: list[Value] = []
        self.numbers = {id(picture): 0}
        self.dependent = {id(picture)}
        self.kept: list[Any] = []  # so that no id is given to a second tensor

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        self.kept.append((args, kwargs, result))
        if any(id(each) in self.dependent for each in tree_leaves((args, kwargs))):
            name = str(function).removeprefix("aten.").partition(".")[0]
            made = result[0] if isinstance(result, tuple) else result
            if name in VIEWS:
                settings, inputs = _view(function, *args, **kwargs)
            elif name in STEPS:
                settings, inputs = STEPS[name](*args, **kwargs)
            else:
                raise UnseenError(f"this network has an operation that a page cannot do: {name}")
            numbers = [self._number(each) for each in inputs]
            step = {"do": name, "in": numbers, "shape": list(made.shape)} | settings
            self._append(made, step)
            self.dependent.add(id(made))
        return result

    def _number(self, value: Tensor | float) -> int:
        if id(value) not in self.numbers:
            self._append(value, _constant(value))
        return self.numbers[id(value)]

    def _append(self, made: Tensor | float, value: Value) -> None:
        self.values.append(value)
        self.numbers[id(made)] = len(self.values)


def _constant(given: Tensor | float) -> Value:
    """Weights in 16 bits, which are half the page; the few numbers beside them in 32."""
    numbers = torch.as_tensor(given).detach().float().contiguous().numpy()
    fits = numbers.ndim > 1 and np.abs(numbers).max() <= np.finfo(np.float16).max
    kind, written = ("float16", "<f2") if fits else ("float32", "<f4")
    text = base64.b64encode(numbers.astype(written).tobytes()).decode()
    return {"shape": list(numbers.shape), kind: text}


def _refuse(cannot: bool, what: str) -> None:
    if cannot:
        raise UnseenError(f"this network {what}, which a page cannot do")


def _view(function: Any, value: Tensor, *args: Any, **kwargs: Any) -> Described:
    """The same numbers in another order: where the first is, and how far it is to the next."""
    seen = function(torch.empty(value.shape), *args, **kwargs)
    return {"do": "view", "strides": seen.stride(), "offset": seen.storage_offset()}, [value]


def _copy(value: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Described:
    _refuse(dtype is not None and not dtype.is_floating_point, "makes whole numbers")
    return {"do": "same"}, [value]


def _elementwise(*inputs: Tensor | float, alpha: float = 1) -> Described:
    _refuse(alpha != 1, "adds multiples")
    return {}, inputs


def _power(value: Tensor, exponent: float) -> Described:
    _refuse(exponent != 2, "has powers other than squares")
    return {"do": "mul"}, [value, value]


def _convolution(value: Tensor, weights: Tensor, bias: Tensor | None, *how: Any) -> Described:
    stride, padding, dilation, transposed, _, groups = how
    plain = value.ndim == 4 and not transposed and groups == 1 and {*dilation} == {1}
    _refuse(not plain, "has a convolution of a special kind")
    inputs = [value, weights] if bias is None else [value, weights, bias]
    return {"do": "convolve", "stride": stride, "padding": padding}, inputs


def _pool(value: Tensor, size: list[int], stride: Sequence[int] = (), *how: Any) -> Described:
    usual = zip(how, (0, 1, False), strict=False)  # padding, dilation, ceil_mode
    plain = value.ndim == 4 and all({*np.atleast_1d(each)} == {than} for each, than in usual)
    _refuse(not plain, "pools with padding or gaps")
    return {"do": "pool", "size": size, "stride": stride or size}, [value]


def _affine(bias: Tensor, value: Tensor, weights: Tensor, **scales: int) -> Described:
    _refuse(any(each != 1 for each in scales.values()), "adds multiples")
    return {"do": "affine"}, [value, weights, bias]


def _reduction(value: Tensor, axes: Any = None, *_: Any, **__: Any) -> Described:
    """A sum, a maximum, a softmax, … along some axes, by default along all."""
    given = range(value.ndim) if axes in (None, []) else np.atleast_1d(axes)
    return {"axes": [int(axis) % value.ndim for axis in given]}, [value]


def _joined(values: list[Tensor], axis: int = 0) -> Described:
    return {"axis": axis % values[0].ndim}, values


def _looked_up(table: Tensor, positions: list[Tensor | None]) -> Described:
    plain = table.ndim == 1 and len(positions) == 1 and positions[0] is not None
    _refuse(not plain, "looks up rows")
    return {}, [table, *(each for each in positions if each is not None)]


VIEWS = {"view", "_unsafe_view", "unsqueeze", "squeeze", "transpose", "t", "permute", "select"}
VIEWS |= {"slice", "expand"}
COPIES = ("clone", "_to_copy", "detach", "alias", "contiguous")
ELEMENTWISE = ("relu", "tanh", "sigmoid", "silu", "exp", "log", "sqrt", "abs", "neg")
PAIRED = ("add", "sub", "mul", "div", "maximum", "minimum")
REDUCTIONS = ("sum", "mean", "amax", "argmax", "logsumexp", "_softmax", "_log_softmax")
STEPS: dict[str, Callable[..., Described]] = {
    **dict.fromkeys(COPIES, _copy),
    **dict.fromkeys((*ELEMENTWISE, *PAIRED), _elementwise),
    **dict.fromkeys(REDUCTIONS, _reduction),
    "convolution": _convolution,
    "max_pool2d_with_indices": _pool,
    "addmm": _affine,
    "mm": lambda value, weights: ({"do": "affine"}, [value, weights]),
    "pow": _power,
    "cat": _joined,
    "index": _looked_up,
}
