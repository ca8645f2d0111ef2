"""Work on threads: in order, errors and all, also within other work and after a fork."""

from __future__ import annotations

import os
import threading
import time

import pytest

from motif.engine import threads
from motif.engine.threads import check_wanted, on_threads


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 3)


def test_results_come_in_order() -> None:
    def work(number: int) -> int:
        time.sleep(0.02 * (3 - number % 3))
        return number * number

    assert on_threads(work, 7) == [number * number for number in range(7)]
    assert on_threads(work, 0) == []


def test_threads_stay() -> None:
    barrier = threading.Barrier(3)

    def work(_: int) -> int:
        barrier.wait(10)
        return threading.get_ident()

    first, second = set(on_threads(work, 3)), set(on_threads(work, 3))
    assert len(first) == 3
    assert first == second
    assert threading.get_ident() not in first


def test_one_part_is_done_here() -> None:
    assert on_threads(lambda _: threading.get_ident(), 1) == [threading.get_ident()]


def test_work_within_work_does_not_wait_for_itself() -> None:
    found = on_threads(lambda outer: on_threads(lambda inner: 10 * outer + inner, 5), 9)
    assert found == [[10 * outer + inner for inner in range(5)] for outer in range(9)]


def test_nothing_goes_on_after_an_error() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            raise ValueError("the first one")
        time.sleep(0.05)
        done.append(number)

    with pytest.raises(ValueError, match="the first one"):
        on_threads(work, 40)
    count = len(done)
    assert count < 39, "those that had not begun are not begun"
    time.sleep(0.2)
    assert len(done) == count


def test_what_runs_ends_once_nobody_waits_for_it() -> None:
    began = threading.Barrier(3)

    def work(number: int) -> None:
        began.wait(10)
        if number == 1:
            raise ValueError("the second one")
        deadline = time.monotonic() + 60
        while number == 2 and time.monotonic() < deadline:
            check_wanted()
            time.sleep(0.001)
        ended.append(number)

    ended: list[int] = []
    with pytest.raises(ValueError, match="the second one"):
        on_threads(work, 3)
    assert ended == [0]
    assert on_threads(lambda _: check_wanted(), 3) == [None] * 3, "what comes after is wanted"
    check_wanted()


def test_callers_on_several_threads_share_them() -> None:
    answers: dict[int, list[int]] = {}

    def ask(number: int) -> None:
        answers[number] = on_threads(lambda part: number + part, 4)

    callers = [threading.Thread(target=ask, args=(100 * number,)) for number in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(10)
    assert answers == {100 * number: [100 * number + part for part in range(4)] for number in range(8)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes are forked")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert on_threads(lambda number: number, 3) == [0, 1, 2]
    child = os.fork()
    if child == 0:
        os._exit(0 if on_threads(lambda number: number, 3) == [0, 1, 2] else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the forked process waits for threads that are not there")
