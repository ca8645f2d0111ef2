"""Which partitions of events have a chance of a match, found in a few passes over events in any order."""

from __future__ import annotations

from typing import Any


def complete(group: Any, roles: Any, enough: Any, seen: Any, numbers: Any, kept: Any, kept_group: Any) -> int:
    """kept[:result] = the events of partitions that have all that some way must bind; kept_group: numbers of these.

    enough[r] = 1 if the roles r, a bit for each, are all that it takes; seen[p]: the roles in partition p, 0 before.
    numbers[p] = how many such partitions come before p; there is one more of them, for all.
    """
    for event in range(len(group)):
        seen[group[event]] |= roles[event]
    partitions = 0
    for partition in range(len(seen)):
        numbers[partition] = partitions
        partitions += enough[seen[partition]]
    numbers[len(seen)] = partitions
    count = 0
    for event in range(len(group)):
        kept[count] = event  # the next one takes its place if it does not stay: a branch would be mispredicted often
        count += enough[seen[group[event]]]
    for place in range(count):
        kept_group[place] = numbers[group[kept[place]]]
    return count


def span(group: Any, roles: Any, times: Any, lowest: Any, spans: Any, width: int) -> int:
    """When events begin and end to come: spans[p * width + 2 * b :][:2], of the role of bit b in partition p.

    lowest[r] = 2 * b for the lowest bit b of roles r: to look at one bit after the other would be mispredicted often.
    """
    for event in range(len(group)):
        moment = times[event]
        left = roles[event]
        while left:
            place = group[event] * width + lowest[left]
            spans[place] = min(spans[place], moment)
            spans[place + 1] = max(spans[place + 1], moment)
            left &= left - 1
    return 0


def neighbours(settings: Any, group: Any, times: Any, roles: Any, enough: Any, seen: Any, own: Any, kept: Any) -> int:
    """kept[:result] = events whose cell, with those before and after it in time, has all that some way must bind.

    settings: when time begins, the bits by which it is shifted to give stretches, the mask of their numbers, and how
    many partitions there are; seen[stretch * partitions + partition]: the roles there, 0 before; own: cells of events.
    """
    since, shift, mask, partitions = settings[0], settings[1], settings[2], settings[3]
    for event in range(len(group)):
        cell = (((times[event] - since) >> shift) & mask) * partitions + group[event]
        own[event] = cell
        seen[cell] |= roles[event]
    count = 0
    for event in range(len(group)):
        before, after = own[event] - partitions, own[event] + partitions
        before += len(seen) if before < 0 else 0
        after -= len(seen) if after >= len(seen) else 0
        kept[count] = event  # as in `complete`
        count += enough[seen[own[event]] | seen[before] | seen[after]]
    return count
