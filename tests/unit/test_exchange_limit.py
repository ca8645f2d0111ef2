"""How large a table is before Spark exchanges it: less with more cores, never nothing, never more than a partition."""

from __future__ import annotations

import pytest

from motif.hosts.spark.exchange import EXCHANGED, MOST_BYTES, SET_UP_BYTES, _row_limit


def test_more_cores_exchange_sooner() -> None:
    limits = [_row_limit(cores) for cores in range(1, 1000)]
    assert limits[0] == MOST_BYTES
    assert limits == sorted(limits, reverse=True)
    assert SET_UP_BYTES < limits[-1] < 1.01 * SET_UP_BYTES


@pytest.mark.parametrize("cores", [2, 3, 4, 16, 200])
def test_the_limit_is_where_both_ways_take_as_long(cores: int) -> None:
    limit = _row_limit(cores)
    assert limit == pytest.approx(SET_UP_BYTES + EXCHANGED * limit / cores, abs=2 * cores)
