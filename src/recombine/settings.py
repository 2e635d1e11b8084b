"""Frozen typed settings: the base of every config in the house.

Unknown keys and wrong types become one line that names the key and the nearest right one. The canonical JSON of a
config is its identity: equal settings, equal fingerprint, on any machine.
"""

import difflib
import hashlib
import json
import types
from collections.abc import Mapping
from typing import Any, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from recombine.errors import UserError


class Settings(BaseModel):
    """A frozen pydantic model that forbids unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def replace(self, **changes: Any) -> Self:
        """A validated copy with these fields changed."""
        return build(type(self), {**self.model_dump(mode="json"), **changes})


S = TypeVar("S", bound=Settings)


def build(kind: type[S], data: Mapping[str, Any]) -> S:
    """Validate `data` as `kind`; a mistake becomes one UserError that names the key and what would be right."""
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        raise UserError(_explain(kind, error)) from None


def override(settings: S, changes: Mapping[str, Any]) -> S:
    """A validated copy with dotted keys changed: `override(config, {"training.batch": 64})`."""
    data: dict[str, Any] = settings.model_dump(mode="json")
    for dotted, value in changes.items():
        *path, last = dotted.split(".")
        place: Any = data
        for depth, key in enumerate(path):
            if not isinstance(place.get(key), dict):
                where = ".".join(path[:depth])
                raise UserError(f"unknown key '{dotted}'{_nearest(key, place, where)}")
            place = place[key]
        if last not in place:
            raise UserError(f"unknown key '{dotted}'{_nearest(last, place, '.'.join(path))}")
        before = place[last]
        if (
            isinstance(before, dict)
            and isinstance(value, dict)
            and value.get("kind", before.get("kind")) == before.get("kind")
        ):
            value = {**before, **value}  # a part of the same kind: the rest stays
        place[last] = value
    return build(type(settings), data)


def has_key(settings: Settings, dotted: str) -> bool:
    """Whether there is a setting of this name below these."""
    place: Any = settings.model_dump(mode="json")
    for key in dotted.split("."):
        if not isinstance(place, dict) or key not in place:
            return False
        place = place[key]
    return True


def canonical(settings: Settings) -> str:
    """The one JSON text of these settings: sorted keys, no spaces."""
    return json.dumps(settings.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def fingerprint(settings: Settings, length: int = 12) -> str:
    """The address of these settings: the head of the SHA-256 of their canonical JSON."""
    return hashlib.sha256(canonical(settings).encode()).hexdigest()[:length]


def _explain(kind: type[BaseModel], error: ValidationError) -> str:
    first = error.errors()[0]
    location = _without_tags(kind, [str(part) for part in first["loc"]])
    dotted = ".".join(location)
    if first["type"] == "extra_forbidden":
        known = _fields_at(kind, [str(part) for part in first["loc"][:-1]])
        return f"unknown key '{dotted}'{_nearest(location[-1], known, '.'.join(location[:-1]))}"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if not dotted or first["type"] == "value_error":
        return f"{dotted}: {message}" if dotted else message
    if first["type"] == "missing":
        return f"missing key '{dotted}'"
    return f"'{dotted}' = {first.get('input')!r}: {message[0].lower()}{message[1:]}"


def _without_tags(kind: type[BaseModel], location: list[str]) -> list[str]:
    """The path as a person writes it: after a field that may hold models of several kinds pydantic names the kind."""
    models: list[type[BaseModel]] = [kind]
    path: list[str] = []
    tagged = False  # whether the next part may be a tag
    for part in location:
        kinds = {model.model_fields["kind"].default: model for model in models if "kind" in model.model_fields}
        if tagged and part in kinds:
            models, tagged = [kinds[part]], False
            continue
        path.append(part)
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        models = [below for field in fields for below in _models_in(field.annotation)] or models
        tagged = len(models) > 1
    return path


def _nearest(key: str, known: Mapping[str, Any], where: str) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    prefix = f"{where}." if where else ""
    if close:
        return f"; did you mean '{prefix}{close[0]}'?"
    return f"; {where or 'the top level'} knows: {', '.join(known)}"


def _fields_at(kind: type[BaseModel], path: list[str]) -> Mapping[str, Any]:
    """The fields of the model that sits at `path` below `kind` (through unions, by field or by tag)."""
    models: list[type[BaseModel]] = [kind]
    for part in path:
        below: list[type[BaseModel]] = []
        for model in models:
            if part in model.model_fields:
                below += _models_in(model.model_fields[part].annotation)
            elif model.model_fields.get("kind") is not None and model.model_fields["kind"].default == part:
                below.append(model)  # pydantic names the tag of a discriminated union in the path
        models = below or models
    return {name: field for model in models for name, field in model.model_fields.items()}


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType) or get_args(annotation):
        return [model for part in get_args(annotation) for model in _models_in(part)]
    return []


def parse_override(text: str) -> tuple[str, Any]:
    """`training.batch=64` as a dotted key and a YAML value."""
    import yaml

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UserError(f"'--set {text}': write it as --set section.key=value")
    try:
        return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        raise UserError(f"'--set {text}': the value is not valid YAML") from None
