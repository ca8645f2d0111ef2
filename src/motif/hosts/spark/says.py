"""What Spark says of a mistake in an expression, in our words: the message, and below it one hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from motif.hosts.spark.types import message_and_hint
from motif.plan.source import HostRefusal

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

_Said = tuple[str, str | None]
_OWN_NAME = re.compile(r"`?\b__(?:leaf|motif)\w*`?")
_PLAIN_TYPE = re.compile(r'"([A-Z][A-Z <>,]*)"')
_ONE_SIDE = "CAST one side to the type of the other"
_ARGUMENTS = "CAST the arguments to types that it takes"


def refusal(error: PySparkException) -> HostRefusal:
    """An expression that Spark does not take."""
    message, hint = in_our_words(error)
    return HostRefusal(f"{message}\n{hint}" if hint else message)


def in_our_words(error: PySparkException) -> _Said:
    """The message and a hint, by the name that Spark gives the mistake; else what Spark says."""
    condition = error.getCondition() or ""
    if words := _WORDS.get(condition):
        return words({name: value.strip("`") for name, value in (error.getMessageParameters() or {}).items()})
    message, hint = message_and_hint(str(error))
    mismatch = condition.startswith("DATATYPE_MISMATCH")
    return _OWN_NAME.sub("a value", message), hint or (_ARGUMENTS if mismatch else None)


def _no_function(said: Mapping[str, str]) -> _Said:
    hint = "give one that Spark has, or register yours: spark.udf.register"
    return f"there is no function {said['routineName']}", hint


def _wrong_number(said: Mapping[str, str]) -> _Said:
    taken = said["expectedNum"].strip("[]").replace(", ", " or ")
    one = "1 value" if said["actualNum"] == "1" else f"{said['actualNum']} values"
    return f"{said['functionName']} does not take {one}", f"it takes {taken}"


def _different(said: Mapping[str, str]) -> _Said:
    left, right = (said[side].strip('"') for side in ("left", "right"))
    return f"cannot compare or combine {left} with {right}", _ONE_SIDE


def _wrong_type(said: Mapping[str, str]) -> _Said:
    function = re.match(r'"(\w+)\(', said["sqlExpr"])
    taken = " or ".join(_PLAIN_TYPE.findall(said["requiredType"]))
    message = f"{function[1] if function else 'this'} does not take {said['inputType'].strip(chr(34))}"
    return message, f"CAST its {said['paramIndex']} argument to {taken}" if taken else _ARGUMENTS


def _no_fields(said: Mapping[str, str]) -> _Said:
    return f"a value of type {said['other'].strip(chr(34))} has no parts", "only structs, lists and maps have parts"


def _no_type(said: Mapping[str, str]) -> _Said:
    return f"there is no type {said['typeName'].strip(chr(34))}", "write one of Spark, such as BIGINT, DOUBLE or STRING"


_WORDS: Mapping[str, Callable[[Mapping[str, str]], _Said]] = {
    "UNRESOLVED_ROUTINE": _no_function,
    "WRONG_NUM_ARGS.WITHOUT_SUGGESTION": _wrong_number,
    "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES": _different,
    "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE": _wrong_type,
    "INVALID_EXTRACT_BASE_FIELD_TYPE": _no_fields,
    "UNSUPPORTED_DATATYPE": _no_type,
}
