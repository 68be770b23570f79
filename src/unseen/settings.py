"""Settings: frozen models whose fields are the only place where a setting is described.

A field has its type, limits, default and description; a `title` where the setting goes by a
shorter name in calls and on the command line. The command line, its help, the call `unseen.run`,
validation and the repeat command are made from the fields.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, ValidationInfo
from pydantic.fields import FieldInfo

from unseen.errors import SettingError, UnseenError, unknown

# faults that are worded otherwise than pydantic does
FAULTS = {
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_pattern_mismatch": "must be like {examples}",
    **dict.fromkeys(("int_from_float", "int_type", "int_parsing"), "must be a whole number"),
}


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **settings: Any) -> None:
        with setting_errors(type(self)):
            super().__init__(**settings)

    def change(self, **settings: Any) -> Self:
        """The same with some fields changed, checked anew."""
        return type(self)(**dict(self) | settings)


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
        context = fault.get("ctx", {})
        if fault["type"] == "value_error":
            raise UnseenError(str(context["error"])) from None
        field = str(fault["loc"][-1]) if fault["loc"] else model.__name__
        info = model.model_fields.get(field, FieldInfo())
        name = info.title or field
        if fault["type"] == "extra_forbidden":
            raise unknown("setting", name, model.model_fields) from None
        if fault["type"] == "missing":
            raise UnseenError(f"{name} has to be given") from None
        if fault["type"] in FAULTS:
            limits = {name: format_value(limit) for name, limit in context.items()}
            examples = ", ".join(map(str, info.examples or ()))
            text = FAULTS[fault["type"]].format(examples=examples, **limits)
        else:
            text = fault["msg"].replace("Input should be", "must be")
        raise SettingError(name, fault["input"], text) from None


def format_value(value: object) -> str:
    """A value as people write it: 0, not 0.0."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def known(kind: str, names: Callable[[], Iterable[str]]) -> AfterValidator:
    """Refuse a name that its registry does not have; registries are looked up when needed."""

    def check(name: str) -> str:
        if name not in (known_names := [*names()]):
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
    return usable_path(info.field_name or "path", path)


PathText = Annotated[str, AfterValidator(_checked_path)]
