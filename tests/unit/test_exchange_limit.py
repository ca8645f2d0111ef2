"""How large a table is before Spark exchanges it: less with more cores, never nothing, never more than a partition."""

from __future__ import annotations

import pytest

from motif.hosts.spark.exchange import EXCHANGED, HANDED_OVER, MOST_BYTES, SET_UP_BYTES, _bytes_for_one

SAVED = (1.0, HANDED_OVER)


@pytest.mark.parametrize("saved", SAVED)
def test_more_cores_exchange_sooner(saved: float) -> None:
    limits = [_bytes_for_one(cores, saved) for cores in range(1, 1000)]
    assert limits[0] == MOST_BYTES
    assert limits == sorted(limits, reverse=True)
    assert saved * SET_UP_BYTES < limits[-1] < 1.01 * saved * SET_UP_BYTES


@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize("cores", [4, 16, 200])
def test_the_limit_is_where_both_ways_take_as_long(cores: int, saved: float) -> None:
    limit = _bytes_for_one(cores, saved)
    assert limit == pytest.approx(saved * (SET_UP_BYTES + EXCHANGED * limit / cores), abs=2 * cores)


def test_one_that_reads_files_by_itself_is_worth_more() -> None:
    assert all(_bytes_for_one(cores, HANDED_OVER) > _bytes_for_one(cores, 1) for cores in (2, 4, 16, 200))
