"""Zone maps: the least and greatest value of blocks of candidates, so that an inequality passes over whole blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motif.engine.arrays import Array
from motif.engine.events.rows import EventRows, Groups
from motif.engine.order import float_order
from motif.plan.events.steps import Zone
from motif.plan.scalar import Lane, lane

BLOCK, LARGE = 64, 4096
NOTHING = int(np.iinfo(np.int64).min)
"""Stands for NULL among the limits: no value is that small."""


@dataclass(frozen=True, slots=True)
class ZoneMap:
    """Values are integers in the order of the attribute; `limits` are those of the other event, by position."""

    limits: Array
    least: Array
    greatest: Array
    least_large: Array
    greatest_large: Array


def zone_map(rows: EventRows, group: Groups, zone: Zone | None) -> ZoneMap:
    """Blocks of a level's candidates; empty where it has no inequality."""
    if zone is None:
        none = np.zeros(0, np.int64)
        return ZoneMap(none, none, none, none, none)
    own, own_nulls = _ordinals(rows, zone.own)
    other, other_nulls = _ordinals(rows, zone.other)
    values, nulls = own[group.positions], own_nulls[group.positions]
    most = np.iinfo(np.int64).max
    least, greatest = np.where(nulls, most, values), np.where(nulls, NOTHING, values)
    return ZoneMap(
        np.where(other_nulls, NOTHING, other),
        _blocks(np.minimum, least, BLOCK),
        _blocks(np.maximum, greatest, BLOCK),
        _blocks(np.minimum, least, LARGE),
        _blocks(np.maximum, greatest, LARGE),
    )


def _ordinals(rows: EventRows, column: int) -> tuple[Array, Array]:
    lanes = rows.rows.lanes(column)
    values = float_order(lanes.values) if lane(rows.program.types[column]) is Lane.FLOAT else lanes.values
    return values, lanes.nulls == 1


def _blocks(function: np.ufunc, values: Array, size: int) -> Array:
    if not len(values):
        return np.zeros(0, np.int64)
    reduced: Array = function.reduceat(values, np.arange(0, len(values), size))
    return reduced
