"""How large a table is before Spark exchanges it: less with more cores, never nothing, never more than a partition."""

from __future__ import annotations

import pytest

from motif.plan.physical.choose import bytes_for_one
from motif.plan.physical.costs import COSTS

BY_ITSELF = (False, True)


def saved(*, by_itself: bool) -> float:
    return COSTS.handed_over if by_itself else 1.0


@pytest.mark.parametrize("by_itself", BY_ITSELF)
def test_more_cores_exchange_sooner(by_itself: bool) -> None:
    limits = [bytes_for_one(cores, COSTS, by_itself=by_itself) for cores in range(1, 1000)]
    least = saved(by_itself=by_itself) * COSTS.exchange_bytes
    assert limits[0] == COSTS.one_task_bytes
    assert limits == sorted(limits, reverse=True)
    assert least < limits[-1] < 1.01 * least


@pytest.mark.parametrize("by_itself", BY_ITSELF)
@pytest.mark.parametrize("cores", [4, 16, 200])
def test_the_limit_is_where_both_ways_take_as_long(cores: int, by_itself: bool) -> None:
    limit = bytes_for_one(cores, COSTS, by_itself=by_itself)
    exchanged = saved(by_itself=by_itself) * (COSTS.exchange_bytes + COSTS.exchanged * limit / cores)
    assert limit == pytest.approx(exchanged, abs=2 * cores)


def test_one_that_reads_files_by_itself_is_worth_more() -> None:
    for cores in (2, 4, 16, 200):
        assert bytes_for_one(cores, COSTS, by_itself=True) > bytes_for_one(cores, COSTS, by_itself=False)
