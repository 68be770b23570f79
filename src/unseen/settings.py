"""Settings: frozen models whose fields are the only place where a setting is described.

A field has its type, limits, default and description; a `title` where the setting goes by a
shorter name in calls and on the command line. The command line, its help, the call `unseen.run`,
validation and the repeat command are made from the fields.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, ValidationInfo
from pydantic.fields import FieldInfo

from unseen.errors import SettingError, UnseenError, unknown

FAULTS = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be greater than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "finite_number": "must be a finite number",
    "string_pattern_mismatch": "must be like {examples}",
    "literal_error": "must be {expected}",
    **dict.fromkeys(("int_from_float", "int_type", "int_parsing"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be True or False"),
    "string_type": "must be a text",
    "model_type": "must be of class {class_name}",
    "frozen_instance": "cannot be set; `change` makes settings with another value",
}


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **settings: Any) -> None:
        with setting_errors(type(self)):
            super().__init__(**settings)

    def __setattr__(self, name: str, value: Any) -> None:
        with setting_errors(type(self)):
            super().__setattr__(name, value)

    def change(self, **settings: Any) -> Self:
        """The same with some fields changed, checked anew."""
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**kept | settings)


def setting_names(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that calls and the command line use."""
    return {info.title or name: info for name, info in model.model_fields.items()}


@contextmanager
def setting_errors(model: type[BaseModel]) -> Iterator[None]:
    """Turn the first fault of a validation into an error about one setting."""
    try:
        yield
    except ValidationError as error:
        fault = error.errors()[0]
        if fault["type"] == "value_error":
            cause = fault["ctx"]["error"].__cause__
            raise (
                cause
                if isinstance(cause, UnseenError)
                else UnseenError(fault["msg"].removeprefix("Value error, "))
            ) from None
        field = str(fault["loc"][-1]) if fault["loc"] else model.__name__
        info = model.model_fields.get(field)
        name = (info.title if info else None) or field
        if fault["type"] == "extra_forbidden":
            raise unknown("setting", name, model.model_fields) from None
        if fault["type"] == "missing":
            raise UnseenError(f"{name} has to be given") from None
        said = FAULTS.get(fault["type"], "is not valid: {msg}")
        limits = {name: format_value(limit) for name, limit in fault.get("ctx", {}).items()}
        examples = ", ".join(map(str, info.examples or ())) if info else ""
        fault_said = said.format(msg=fault["msg"], examples=examples, **limits)
        raise SettingError(name, fault["input"], fault_said) from None


def format_value(value: object) -> str:
    """A value as people write it: 0, not 0.0."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


@contextmanager
def as_value_error() -> Iterator[None]:
    """Hand an UnseenError through validation, which passes on ValueErrors only."""
    try:
        yield
    except UnseenError as error:
        raise ValueError(str(error)) from error


def known(kind: str, names: Callable[[], Iterable[str]]) -> AfterValidator:
    """Refuse a name that its registry does not have; registries are looked up when needed."""

    def check(name: str) -> str:
        known_names = [*names()]
        if name not in known_names:
            with as_value_error():
                raise unknown(kind, name, known_names)
        return name

    return AfterValidator(check)


def usable_path(setting: str, path: object) -> str:
    """A path as text; refused if records, reports and JSON could not hold it."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        fault = "is no valid UTF-8, so no record could name it; rename the file or the folder"
        raise SettingError(setting, text, fault) from None
    if "\0" in text:
        raise SettingError(setting, text, "has a null character in it, as no path has")
    return text


def _checked_path(path: str, info: ValidationInfo) -> str:
    with as_value_error():
        return usable_path(info.field_name or "path", path)


PathText = Annotated[str, AfterValidator(_checked_path)]


def without_none(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}
