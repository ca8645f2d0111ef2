"""The loop for CONSUMING: decision points in order, each over the events that have arrived and are not consumed.

A result row has one column per single variable (-1: not bound) and two per list (where it begins in the items, and
how many there are).
`build` puts calls of the joins in place of the marker `# <call>` of `run_join`; they write rows from `state[3]` on.

point_*     per decision point: its first trial, its partition, first position that has not arrived, when it is, and the
            event at which it is (-1: a deadline)
trial_*     joins to run at a point: which, and the event to fix (-1: none)
base        settings of each join; depths; level_at: the level that binds a column in each join, or -1;
            leads: 1 for the first join of each way, plus 2 for a way that waits
is_list     per column: 1 for a list (its count is in the next column), 2 for that count
deadline    per event: the deadline of a match that begins with it
consumed    per column: 1 where its events are consumed; picks: columns of FIRST and LAST; late: 1 for LAST
state       named below; run: scratch for the settings and the state of a join
"""

from __future__ import annotations

from typing import Any

# indexes into `state`; the last two are those of the join
POINT, FIRED, ITEMS = 0, 1, 2

# what `consume` returns
DONE, GROW, PAUSED, TOO_MANY_LISTS = 0, 1, 2, 3


def precedes(a: int, b: int, keys: Any, most: int) -> bool:
    """Canonical order of two rows: last event, first event, the others, then what the columns bind."""
    for i in range(most):
        if keys[a * most + i] != keys[b * most + i]:
            return keys[a * most + i] < keys[b * most + i]
    return False


def agree(a: int, b: int, but: int, rows: Any, items: Any, width: int, is_list: Any) -> bool:
    """Whether two rows bind the same events in every column but one."""
    for c in range(width):
        if c == but or is_list[c] == 2:
            continue
        if is_list[c] == 0:
            if rows[a * width + c] != rows[b * width + c]:
                return False
        else:
            # A list that a way does not have counts as one that is empty.
            if max(rows[a * width + c + 1], 0) != max(rows[b * width + c + 1], 0):
                return False
            for i in range(rows[a * width + c + 1]):
                if items[rows[a * width + c] + i] != items[rows[b * width + c] + i]:
                    return False
    return True


def decided(row: int, rows: Any, items: Any, width: int, is_list: Any, event: int, clock: int, deadline: Any) -> bool:
    """Whether this is the decision point of a row."""
    last = -1
    first = 1 << 62
    for c in range(width):
        if is_list[c] == 0:
            at = rows[row * width + c]
            if at >= 0:
                last = max(last, at)
                first = min(first, deadline[at])
        elif is_list[c] == 1:
            for i in range(rows[row * width + c + 1]):
                at = items[rows[row * width + c] + i]
                last = max(last, at)
                first = min(first, deadline[at])
    return last == event if event >= 0 else first == clock


def run_join(
    j: int,  # noqa: ARG001 - all of these are read by the generated calls
    run: Any,  # noqa: ARG001
    fixed: Any,  # noqa: ARG001
    alive: Any,  # noqa: ARG001
    join_state: Any,  # noqa: ARG001
    rows: Any,  # noqa: ARG001
    items: Any,  # noqa: ARG001
    statics: Any,  # noqa: ARG001
    works: Any,  # noqa: ARG001
    envs: Any,  # noqa: ARG001
) -> int:
    """The j-th join; a function of its own, so that two places can call it."""
    status = 0
    # <call>
    return status  # noqa: RET504 - the calls set it


def consume(
    settings: Any,
    point_at: Any,
    point_segment: Any,
    point_until: Any,
    point_clock: Any,
    point_event: Any,
    trial_join: Any,
    trial_event: Any,
    base: Any,
    depths: Any,
    level_at: Any,
    leads: Any,
    is_list: Any,
    deadline: Any,
    consumed: Any,
    picks: Any,
    late: Any,
    alive: Any,
    fixed: Any,
    run: Any,
    join_state: Any,
    rows: Any,
    row_join: Any,
    items: Any,
    rivals: Any,
    rival_items: Any,
    flags: Any,
    order: Any,
    other: Any,
    keys: Any,
    state: Any,
    fired: Any,
    fired_items: Any,
    statics: Any,
    works: Any,
    envs: Any,
) -> int:
    """Write fired rows from where `state` says; returns why it stopped."""
    width = settings[0]
    points = settings[1]
    pause = settings[2]
    most = settings[3]
    twins = settings[4] != 0
    done = 0
    while state[0] < points:
        point = state[0]
        done += 1
        if done > pause:
            return 2
        segment = point_segment[point]
        event = point_event[point]
        clock = point_clock[point]
        found = 0
        written = 0
        # Matches over what is left, of which this may be the decision point.
        for trial in range(point_at[point], point_at[point + 1]):
            j = trial_join[trial]
            at = trial_event[trial]
            if at >= 0 and alive[at] == 0:
                continue
            for i in range(depths[j]):
                fixed[i] = -1
            if at >= 0:
                fixed[0] = at
            for i in range(13):
                run[i] = base[j * 13 + i]
            run[3] = at if event < 0 and at >= 0 else 0
            run[4] = point_until[point]
            run[10] = segment + 1
            join_state[0] = -1
            join_state[1] = 0
            join_state[2] = segment - 1
            join_state[3] = found
            join_state[4] = written
            status = run_join(j, run, fixed, alive, join_state, rows, items, statics, works, envs)
            if status == 1:
                return 1
            if status == 2:
                return 3
            if join_state[3] > len(row_join):
                return 1
            kept = found
            for row in range(found, join_state[3]):
                if decided(row, rows, items, width, is_list, event, clock, deadline):
                    for c in range(width):
                        rows[kept * width + c] = rows[row * width + c]
                    row_join[kept] = j
                    kept += 1
            found = kept
            written = join_state[4]
        if len(picks) > 0 and found > 0:
            # Each is compared with all that differ from it in picked variables only, decided now or not.
            chosen = 0
            top = 0
            for row in range(found):
                known = False
                for earlier in range(row):
                    same = True
                    for c in range(width):
                        if is_list[c] == 0 and late[c] < 0 and rows[row * width + c] != rows[earlier * width + c]:
                            same = False
                    known = known or same
                if known:
                    continue
                join_state[3] = chosen
                join_state[4] = top
                for j in range(len(depths)):
                    # Any way that binds the same variables may lead to a rival; one join of each will do.
                    fits = (leads[j] & 1) != 0
                    for c in range(width):
                        if is_list[c] == 0 and late[c] < 0:
                            fits = fits and (level_at[j * width + c] >= 0) == (rows[row * width + c] >= 0)
                    if not fits:
                        continue
                    for i in range(depths[j]):
                        fixed[i] = -1
                    for c in range(width):
                        if is_list[c] == 0 and late[c] < 0 and level_at[j * width + c] >= 0:
                            fixed[level_at[j * width + c]] = rows[row * width + c]
                    for i in range(13):
                        run[i] = base[j * 13 + i]
                    run[3] = 0
                    run[4] = point_until[point]
                    run[10] = segment + 1
                    join_state[0] = -1
                    join_state[1] = 0
                    join_state[2] = segment - 1
                    before = join_state[3]
                    status = run_join(j, run, fixed, alive, join_state, rivals, rival_items, statics, works, envs)
                    if status == 1 or join_state[3] > len(order):
                        return 1
                    if status == 2:
                        return 3
                    for r in range(before, join_state[3]):
                        order[r] = j
                count = join_state[3]
                if count > len(flags):
                    return 1
                for r in range(chosen, count):
                    flags[r] = 1
                for p in range(len(picks)):
                    x = picks[p]
                    for r in range(chosen, count):
                        other[r] = flags[r]
                    for r in range(chosen, count):
                        if other[r] == 0:
                            continue
                        mine = rivals[r * width + x]
                        for s in range(chosen, count):
                            if other[s] == 0 or s == r:
                                continue
                            yours = rivals[s * width + x]
                            better = yours >= 0 and (mine < 0 or (yours > mine if late[x] == 1 else yours < mine))
                            if better and agree(r, s, x, rivals, rival_items, width, is_list):
                                flags[r] = 0
                                break
                for r in range(chosen, count):
                    # Of a way that waits only a deadline decides, of the others only an event.
                    due = flags[r] != 0 and ((leads[order[r]] & 2) != 0) == (event < 0)
                    if due and decided(r, rivals, rival_items, width, is_list, event, clock, deadline):
                        twice = False
                        for s in range(chosen):
                            twice = twice or agree(r, s, -1, rivals, rival_items, width, is_list)
                        if not twice:
                            for c in range(width):
                                rivals[chosen * width + c] = rivals[r * width + c]
                            chosen += 1
                            top = join_state[4]
            found = chosen
            if found > len(row_join) or top > len(items):
                return 1
            for i in range(found * width):
                rows[i] = rivals[i]
            for i in range(top):
                items[i] = rival_items[i]
        elif found > 1 and (event < 0 or twins):
            # Several events of one deadline, or several ways, may have led to the same match.
            kept = 0
            for row in range(found):
                twice = False
                for earlier in range(kept):
                    twice = twice or agree(row, earlier, -1, rows, items, width, is_list)
                if not twice:
                    for c in range(width):
                        rows[kept * width + c] = rows[row * width + c]
                    kept += 1
            found = kept
        # Canonical order: keys are last, first and all events, then what each column binds.
        if found > 1:
            if found * most > len(keys):
                return 1
            for row in range(found):
                size = 0
                head = row * most + 2
                for c in range(width):
                    count = 0
                    if is_list[c] == 0 and rows[row * width + c] >= 0:
                        count = 1
                    elif is_list[c] == 1:
                        count = rows[row * width + c + 1]
                    for i in range(count):
                        at = rows[row * width + c] if is_list[c] == 0 else items[rows[row * width + c] + i]
                        place = size
                        if 2 * size + width + 6 > most:
                            return 1
                        while place > 0 and keys[head + place - 1] > at:
                            keys[head + place] = keys[head + place - 1]
                            place -= 1
                        keys[head + place] = at
                        size += 1
                keys[row * most] = keys[head + size - 1]
                keys[row * most + 1] = keys[head]
                fill = head + size
                keys[fill] = 1 << 61
                fill += 1
                for c in range(width):
                    if is_list[c] == 0:
                        # What is not bound comes after what is.
                        at = rows[row * width + c]
                        keys[fill] = at if at >= 0 else 1 << 61
                        fill += 1
                    elif is_list[c] == 1:
                        for i in range(rows[row * width + c + 1]):
                            keys[fill] = items[rows[row * width + c] + i]
                            fill += 1
                        keys[fill] = -2 if rows[row * width + c + 1] > 0 else 1 << 61
                        fill += 1
                while fill < (row + 1) * most:
                    keys[fill] = -3
                    fill += 1
        for row in range(found):
            order[row] = row
        step = 1
        while step < found:
            low = 0
            while low < found:
                middle = min(low + step, found)
                high = min(low + 2 * step, found)
                a = low
                b = middle
                for i in range(low, high):
                    if b >= high or (a < middle and not precedes(order[b], order[a], keys, most)):
                        other[i] = order[a]
                        a += 1
                    else:
                        other[i] = order[b]
                        b += 1
                for i in range(low, high):
                    order[i] = other[i]
                low += 2 * step
            step *= 2
        # Room for all of them, or none of this point is written.
        needed = 0
        for row in range(found):
            for c in range(width):
                if is_list[c] == 2 and rows[row * width + c] > 0:
                    needed += rows[row * width + c]
        if (state[1] + found) * width > len(fired) or state[2] + needed > len(fired_items):
            return 1
        for index in range(found):
            row = order[index]
            whole = True
            for c in range(width):
                if is_list[c] == 0:
                    at = rows[row * width + c]
                    whole = whole and (at < 0 or alive[at] != 0)
                elif is_list[c] == 1:
                    for i in range(rows[row * width + c + 1]):
                        whole = whole and alive[items[rows[row * width + c] + i]] != 0
            if not whole:
                continue
            out = state[1]
            for c in range(width):
                fired[out * width + c] = rows[row * width + c]
                if is_list[c] == 0:
                    at = rows[row * width + c]
                    if at >= 0 and consumed[c] != 0:
                        alive[at] = 0
                elif is_list[c] == 1:
                    fired[out * width + c] = state[2]
                    for i in range(rows[row * width + c + 1]):
                        at = items[rows[row * width + c] + i]
                        fired_items[state[2]] = at
                        state[2] += 1
                        if consumed[c] != 0:
                            alive[at] = 0
            state[1] += 1
        state[0] += 1
    return 0
