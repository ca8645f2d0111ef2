"""The matching loop: depth-first search through an automaton, in order of preference.

`search` is run as it stands for patterns whose conditions are row-only. For match-dependent conditions
`build` puts generated statements in place of the marker comments `# <...>`; nothing else changes.

Arguments are sequences (lists in plain Python, arrays when compiled):

bounds     offsets of the partitions in the rows
begin, numbers, dropped  per partition: the row to go on from, matches found before, 1 if rows before it are gone;
           the first two are brought up to date where more rows may come
more, open_from  per partition: 1 if more rows may come; these can change what starts at this row or later
op ... alt the automaton: kind of state, variable of a SYMBOL, preferred and other successor
slot       number of a remembered SPLIT, or -1; fleeting: forget its dead ends after each search
mask       mask[variable * rows + row] != 0 where the row-only part of the condition holds
startable  0 where no match can start; limit: first row out of reach of WITHIN, per start row
settings   named above `search`; state: where to go on, and what happened; named there too
dead       one byte per (row, slot): nothing found from there
stack_...  what is still to try: a state >= 0 and its row; or -1 - state, a remembered SPLIT (with its signature,
           in match-dependent patterns) of which everything above it on the stack is a part
trail      cells of `dead` to clear after the search
labels     automaton state that took each row of each match, one match after the other
env        arrays that the generated statements read

Dead ends of states marked as *signed* hold only for paths with the same signature: the rows that later conditions
can still read. They are looked at only in searches that have become long; short ones are done before it would pay.
"""

from __future__ import annotations

from typing import Any

SYMBOL, SPLIT, MATCH, AT_START, AT_END = 0, 1, 2, 3, 4

# indexes into `settings`
(ROWS, SLOTS, LOOKAHEAD, HAS_LIMIT, SKIP, INCREMENTAL, MAX_STEPS, LONG_SEARCH, PAUSE) = range(9)
SKIP_PAST_LAST, SKIP_NEXT, SKIP_FIRST, SKIP_LAST = 0, 1, 2, 3

# indexes into `state`
SEGMENT, START, NUMBER, FOUND, WRITTEN, STEPS = range(6)

# what `search` returns; FULL and DEEP: it can go on with more room for matches or on the stacks; UNDECIDED never;
# PAUSED: it can go on, after PAUSE steps of all searches together
DONE, FULL, DEEP, UNDECIDED, TOO_MANY_STEPS, SKIP_UNBOUND, SKIP_LOOPS, PAUSED = range(8)


def search(
    bounds: Any,
    begin: Any,
    numbers: Any,
    dropped: Any,
    more: Any,
    open_from: Any,
    op: Any,
    arg: Any,
    preferred: Any,
    other: Any,
    slot: Any,
    fleeting: Any,
    skip_member: Any,
    mask: Any,
    startable: Any,
    limit: Any,
    settings: Any,
    state: Any,
    dead: Any,
    stack_state: Any,
    stack_row: Any,
    stack_signature: Any,  # noqa: ARG001 - written by generated statements
    trail: Any,
    out_start: Any,
    out_end: Any,
    out_number: Any,
    out_segment: Any,
    labels: Any,
    env: Any,  # noqa: ARG001 - read by generated statements
) -> int:
    """Find matches from where `state` says; returns why it stopped.

    One loop on purpose: here a call costs more than a line. No array is ever assigned anew, stacks that are full are
    the caller's affair: compiled, an array in such a variable has its references counted at every step.
    """
    rows = settings[0]
    slots = settings[1]
    lookahead = settings[2]
    has_limit = settings[3] != 0
    skip = settings[4]
    incremental = settings[5] != 0
    max_steps = settings[6]
    left = settings[8]
    segment = state[0]
    start = state[1]
    number = state[2]
    found = 0
    written = 0
    status = 0
    last_segment = len(bounds) - 2
    # <prologue>
    while segment <= last_segment and status == 0:
        low = bounds[segment]
        high = bounds[segment + 1]
        is_open = more[segment] != 0
        known = high - lookahead if is_open else high
        if start < low:
            start = begin[segment]
            number = numbers[segment]
        while start < high:
            if start < known and startable[start] == 0:
                start += 1
                continue
            if found == len(out_start):
                status = 1
                break
            stop = limit[start] if has_limit else high
            may_grow = is_open and start >= open_from[segment]
            goal = -1
            best = -1
            next_start = start + 1
            trying = number + 1
            found_before = found
            written_before = written
            # Searches from one start: one, or for INCREMENTAL one more per earlier end.
            while True:
                row = start
                pc = 0
                top = 0
                marks = 0
                steps = 0
                matched = False
                # <reset>
                while True:
                    steps += 1
                    if steps > max_steps:
                        status = 4
                        break
                    code = op[pc]
                    if code == 0:
                        if row < stop:
                            if row >= known:
                                status = 3
                                break
                            if mask[arg[pc] * rows + row] != 0:
                                if written + row - start >= len(labels):
                                    status = 1
                                    break
                                labels[written + row - start] = pc
                                ok = True
                                # <take>
                                if ok:
                                    row += 1
                                    pc = preferred[pc]
                                    continue
                        elif may_grow and stop >= high:
                            status = 3
                            break
                    elif code == 1:
                        where = slot[pc]
                        # <defer>
                        seen = where >= 0 and dead[(row + segment) * slots + where] != 0
                        # <recall>
                        if not seen:
                            if top + 2 > len(stack_state):
                                status = 2
                                break
                            if where >= 0:
                                stack_state[top] = -1 - pc
                                stack_row[top] = row
                                # <sign>
                                top += 1
                            stack_state[top] = other[pc]
                            stack_row[top] = row
                            top += 1
                            pc = preferred[pc]
                            continue
                    elif code == 2:
                        if goal < 0 or row == goal:
                            matched = True
                            break
                    elif code == 3:
                        if row == low and dropped[segment] == 0:
                            pc = preferred[pc]
                            continue
                    elif row == high:
                        if is_open:
                            status = 3
                            break
                        pc = preferred[pc]
                        continue
                    # Dead end: go back to the other side of the last SPLIT that has it untried.
                    back = -1
                    while top > 0:
                        top -= 1
                        pc = stack_state[top]
                        if pc >= 0:
                            back = stack_row[top]
                            break
                        # Both sides failed: nothing can be found from this state and row.
                        pc = -1 - pc
                        cell = (stack_row[top] + segment) * slots + slot[pc]
                        if fleeting[pc] != 0:
                            if marks == len(trail):
                                status = 2
                                break
                            trail[marks] = cell
                            marks += 1
                        dead[cell] = 1
                        # <remember>
                    if back < 0:
                        break
                    # <undo>
                    row = back
                left -= steps
                while marks > 0:
                    marks -= 1
                    dead[trail[marks]] = 0
                if status != 0:
                    break
                if best < 0 and incremental and matched and row - start > 1:
                    best = row
                    goal = start + 1
                    continue
                if matched:
                    if found == len(out_start):
                        status = 1
                        break
                    out_start[found] = start
                    out_end[found] = row
                    out_number[found] = number + 1
                    out_segment[found] = segment
                    if goal < 0 and row > start:
                        if skip == 0:
                            next_start = row
                        elif skip > 1:
                            target = -1
                            for at in range(start, row):
                                if skip_member[labels[written + at - start]] != 0:
                                    target = at
                                    if skip == 2:
                                        break
                            if target < 0:
                                status = 5
                                break
                            if target == start:
                                status = 6
                                break
                            next_start = target
                    number += 1
                    found += 1
                    written += row - start
                if goal < 0:
                    break
                goal += 1
                if goal >= best:
                    goal = -1
            if status != 0:
                # Nothing of an unfinished start is reported; it is searched again.
                found = found_before
                number = trying - 1
                written = written_before
                break
            start = next_start
            if left < 0:
                status = 7
                break
        if status == 3:
            status = 0  # the next partition may still have something to say
        if status == 0:
            if is_open:
                begin[segment] = start
                numbers[segment] = number
            segment += 1
            start = -1
    state[0] = segment
    state[1] = start
    state[2] = number
    state[3] = found
    state[4] = written
    state[5] = settings[8] - left
    return status
