"""The loop for event patterns: depth-first over the *levels* of one way through a pattern.

A level stands for one element: an event, a list of events, or the absence of one. On entering a level the range of
its candidates is found by binary search (order, time, equality with what is bound already); candidates that pass the
tests are bound one after the other. Nothing is kept but what is bound now, so memory does not depend on how
many combinations there are. `build` puts generated tests in place of the marker comments `# <...>`, and leaves out
what is known not to happen.

The arguments are sequences (lists in plain Python, arrays when compiled), flat where there is one per level:

kind        what the level stands for, named below
order       order[level * depth + other]: -1 if `other` comes before it, 1 if after it, 0 if either may be first
gap_low/high  the same for times: bounds of time[level] - time[other]
source      the level whose event gives the group of candidates, -1: the partition itself
low, high   how many events a list may have; column: where the level is written in a result, -1: nowhere
step        1, or -1 to try late candidates first; distinct: 1 where another level could bind the
            same event, 2 where only single events are looked at
p_at/s_at/c_at  where the level's own part begins in positions, starts and codes
positions   candidates of each level, grouped, in order; starts[group]: where a group begins;
codes       the group that an event of the source level asks for
time, begin of each event; head_at: the position at which it begins; clock, opening: times in the unit of WITHIN
fixed       an event the level must bind, or -1; alive: 0 for consumed events
bound       the event a level binds; count, item_at, items: the list it binds; item_cursor: where in `positions`
            each event of an EACH list was found; cursor, end: candidates of a level that are left
state       where to go on, what was found, and how many steps that took: named below
"""

from __future__ import annotations

from typing import Any

SINGLE, WHOLE, PREFIX, EACH, ABSENT = 0, 1, 2, 3, 4

# indexes into `settings`
(DEPTH, WIDTH, WITHIN, SINCE, UNTIL, CONSUMING, INTERVALS, CHOSEN, STEPS, MOST_EACH, SEGMENTS) = range(11)
LEADS_FROM, LEADS_UNTIL = range(11, 13)
"""Positions at which the event of the first level may be."""

# indexes into `state`
LEVEL, ENTERING, SEGMENT, FOUND, WRITTEN, TRIED = range(6)

COUNTS = 6
"""Where `state` goes on with the counters of each level, in the variant that counts them: see `COUNTING`."""
COUNTING = (
    ("count found", "state[6 + level] += last - first"),
    ("count tried", "state[6 + depth + level] += 1"),
    ("count passed", "state[6 + 2 * depth + level] += 1"),
)
"""Statements for markers that are not there otherwise: candidates in the range of a level, tried, and passed."""

# what `join` returns
DONE, PAUSED, TOO_MANY_LISTS = 0, 1, 2

FAR = 1 << 61
"""No bound on time; still safe to add to a time."""


def join(
    settings: Any,
    kind: Any,
    order: Any,
    gap_low: Any,
    gap_high: Any,
    source: Any,
    low: Any,
    high: Any,
    column: Any,
    step: Any,
    distinct: Any,
    p_at: Any,
    s_at: Any,
    c_at: Any,
    positions: Any,
    starts: Any,
    codes: Any,
    bounds: Any,
    time: Any,
    begin: Any,  # noqa: ARG001 - read by generated statements
    head_at: Any,
    clock: Any,
    opening: Any,
    fixed: Any,
    alive: Any,
    bound: Any,
    count: Any,
    cursor: Any,
    end: Any,
    item_at: Any,
    items: Any,
    item_cursor: Any,
    state: Any,
    out: Any,
    out_items: Any,
    env: Any,  # noqa: ARG001 - read by generated statements
) -> int:
    """Write matches from where `state` says; returns why it stopped.

    One loop on purpose: here a call costs more than a line.
    """
    depth = settings[0]
    width = settings[1]
    within = settings[2]
    since = settings[3]
    until = settings[4]
    consuming = settings[5] != 0
    intervals = settings[6] != 0
    chosen = settings[7]
    steps = settings[8]
    most_each = settings[9]
    segments = settings[10]
    leads_from = settings[11]
    leads_until = settings[12]
    far = 1 << 61
    gapped = True
    level = state[0]
    entering = state[1] != 0
    segment = state[2]
    found = state[3]
    written = state[4]
    status = 0
    # <prologue>
    while True:
        steps -= 1
        if steps < 0:
            status = 1
            break
        if level < 0:
            segment += 1
            if segment >= segments:
                break
            level = 0
            entering = True
        if level == depth:
            ok = True
            # <complete>
            if ok:
                if (found + 1) * width > len(out):
                    status = 1
                    break
                needed = 0
                for e in range(depth):
                    if 0 < kind[e] < 4:
                        needed += count[e]
                if written + needed > len(out_items):
                    status = 1
                    break
                for c in range(width):
                    out[found * width + c] = -1
                for e in range(depth):
                    if kind[e] == 0:
                        out[found * width + column[e]] = bound[e]
                    elif kind[e] < 4:
                        out[found * width + column[e]] = written
                        out[found * width + column[e] + 1] = count[e]
                        for i in range(count[e]):
                            out_items[written + i] = items[item_at[e] + i]
                        written += count[e]
                found += 1
                if chosen >= 0:
                    # This one was picked: no other candidate of that level for what is bound before it.
                    level = chosen + 1
                    cursor[chosen] = end[chosen]
            level -= 1
            entering = False
            continue
        what = kind[level]
        if not entering and (what == 1 or what == 4):
            level -= 1
            continue
        left = -1
        right = far
        open_least = -far
        if entering or intervals:
            after = bounds[segment] - 1
            if what == 0 and since - 1 > after:
                after = since - 1
            before = min(bounds[segment + 1], until)
            if level == 0:  # which is an event, as in every way there is one
                after = max(after, leads_from - 1)
                before = min(before, leads_until)
            earliest = far
            latest = -far
            last_single = -1
            has_left = False
            has_right = False
            least = -far
            most = far
            for e in range(level):
                if kind[e] == 4 or (kind[e] > 0 and count[e] == 0):
                    continue
                if kind[e] == 0:
                    head = bound[e]
                    tail = head
                    last_single = max(last_single, head)
                    if gapped:
                        least = max(least, time[head] + gap_low[level * depth + e])
                        most = min(most, time[head] + gap_high[level * depth + e])
                    earliest = min(earliest, opening[head])
                else:
                    head = items[item_at[e]]
                    tail = items[item_at[e] + count[e] - 1]
                    earliest = min(earliest, opening[head])
                    if intervals:
                        for i in range(count[e]):
                            earliest = min(earliest, opening[items[item_at[e] + i]])
                latest = max(latest, clock[tail])
                if order[level * depth + e] < 0:
                    has_left = True
                    after = max(after, tail)
                    left = max(left, tail)
                elif order[level * depth + e] > 0:
                    has_right = True
                    before = min(before, head)
                    if intervals:
                        if kind[e] == 0:
                            right = min(right, head_at[head])
                        else:
                            for i in range(count[e]):
                                right = min(right, head_at[items[item_at[e] + i]])
            if what != 0 and not has_left and within >= 0:
                open_least = clock[last_single] - within
            if entering:
                if fixed[level] >= 0:
                    after = max(after, fixed[level] - 1)
                    before = min(before, fixed[level] + 1)
                clock_least = -far
                clock_most = far
                if within >= 0:
                    if what == 0:
                        if latest > -far:
                            clock_least = latest - within
                            clock_most = earliest + within
                    else:
                        clock_least = open_least
                        if not has_right:
                            clock_most = earliest + within
                group = segment
                if source[level] >= 0:
                    group = codes[c_at[level] + bound[source[level]]]
                first = 0
                last = 0
                if group >= 0:
                    first = starts[s_at[level] + group]
                    last = starts[s_at[level] + group + 1]
                base = p_at[level]
                # First candidate that is not too early ...
                stop = last
                while first < stop:
                    middle = (first + stop) >> 1
                    at = positions[base + middle]
                    if at <= after or clock[at] < clock_least or (gapped and time[at] < least):
                        first = middle + 1
                    else:
                        stop = middle
                # ... and first that is too late; near ones are tried first, they are likely.
                start = first
                jump = 1
                while start < last:
                    middle = min(start + jump, last) - 1
                    at = positions[base + middle]
                    if at >= before or clock[at] > clock_most or (gapped and time[at] > most):
                        last = middle
                        if jump == 1:
                            break
                        jump = 1
                    else:
                        start = middle + 1
                        jump += jump
                cursor[level] = first
                end[level] = last
                count[level] = 0
                if what == 0 and step[level] < 0:
                    cursor[level] = last - 1
                    end[level] = first - 1
                # <limit>
                # <count found>
                if what == 3 and last - first > most_each:
                    status = 2
                    break
        n = count[level]
        at = cursor[level]
        stop = end[level]
        base = p_at[level]
        go = step[level]
        here = item_at[level]
        if what == 2 and not entering:
            # The whole list is there already: take one event more of it.
            n += 1
            ready = n <= cursor[level]
            count[level] = n
        elif what == 3 and entering and low[level] == 0:
            ready = True
        else:
            ready = what != 0 and what != 3
            if what == 3 and n >= high[level]:
                at = stop
            while True:
                # <skip>
                ok = at != stop
                if not ok and what == 3 and n > 0:
                    # No list goes on from here: give the last event back, and try the next one in its place.
                    n -= 1
                    count[level] = n
                    at = item_cursor[here + n] + 1
                    continue
                if not ok:
                    break
                pos = positions[base + at]
                if n > 0 and within >= 0 and clock[pos] > opening[items[here]] + within:
                    at = stop  # the list itself may begin the match
                    continue
                at += go
                steps -= 1
                # <count tried>
                if consuming and alive[pos] == 0:
                    continue
                if intervals:
                    if head_at[pos] <= left or pos >= right or opening[pos] < open_least:
                        continue
                if distinct[level] != 0:
                    for e in range(level):
                        if kind[e] == 0:
                            if bound[e] == pos:
                                ok = False
                        elif kind[e] < 4 and distinct[level] == 1:
                            for i in range(count[e]):
                                if items[item_at[e] + i] == pos:
                                    ok = False
                    if not ok:
                        continue
                # <test>
                if not ok:
                    continue
                # <count passed>
                if what == 0:
                    bound[level] = pos
                    ready = True
                    break
                if what == 4:
                    ready = False
                    break
                items[here + n] = pos
                n += 1
                count[level] = n
                if what == 3:
                    item_cursor[here + n - 1] = at - 1
                    if n >= low[level]:
                        ready = True
                        break
                    if n >= high[level]:
                        at = stop
            if what == 0 or what == 3:
                cursor[level] = at
            if what == 2:
                cursor[level] = n
                count[level] = 0
                n = 0
            if what == 1:
                ready = low[level] <= n <= high[level]
        if not ready:
            level -= 1
            entering = False
            continue
        if what == 2 and not low[level] <= n <= high[level]:
            entering = False
            continue
        if 0 < what < 4:
            ok = True
            # <listed>
            if not ok:
                if what == 1:
                    level -= 1
                entering = False
                continue
        level += 1
        entering = True
    state[0] = level
    state[1] = 1 if entering else 0
    state[2] = segment
    state[3] = found
    state[4] = written
    state[5] += settings[8] - steps
    return status
