"""The constants that plans are chosen by: what each counts, and what was measured to set it.

They weigh one exact way against another: a wrong one makes a query slower, never its answer another one. `COSTS` was
measured on two cores with ten million rows and less; pass another `Costs` to try a plan that it would not choose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

NEVER = 1 << 62
"""More than there will be of anything."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a plan is chosen by."""

    # -- loops: plain Python, or machine code

    compile_rows: int = 200_000
    """Rows from which on a loop is compiled at once: a second or more to compile, a microsecond a row saved."""
    ready_rows: int = 1_000
    """Rows from which on a loop is used that was compiled before: below, to prepare its arrays takes longer."""
    plain_steps: int = 2_000_000
    """Steps that a loop takes as plain Python before it is compiled after all: they take as long as compiling."""
    kept_plain_steps: int = 5_000
    """Steps that a loop over fewer rows takes as plain Python before it is loaded, if it was compiled before."""
    consuming_effort: int = 3
    """How many times as long as others the loop for CONSUMING takes to compile."""
    leaving_out_effort: int = 5
    """How many times as many events it takes to compile the loops that leave events out: NumPy is half as fast."""
    small_step_rows: int = 256
    """Rows of one push for which a compiled loop is not faster than plain Python."""
    search_pause: int = 1 << 24
    """Steps after which a compiled search comes back: a tenth of a second, so that Ctrl-C is heard."""
    plain_search_pause: int = 200_000
    """Steps after which a search in plain Python comes back again, and may be compiled."""
    join_pause: int = 50_000_000
    """Steps after which a compiled join comes back, so that Ctrl-C is heard."""
    plain_join_pause: int = 50_000
    """Steps after which a join in plain Python comes back again, and may be compiled."""
    point_pause: int = 100_000
    """Decision points of CONSUMING after which a compiled loop comes back."""
    plain_point_pause: int = 200
    """Decision points of CONSUMING after which a loop in plain Python comes back, and may be compiled."""

    long_search_steps: int = 1_000
    """Steps after which a search begins to remember dead ends together with the rows they depend on."""

    # -- memory

    sort_bytes: int = 1 << 30
    """Rows up to this size are sorted in memory in process; larger ones by DuckDB, with the help of its disk."""
    task_sort_bytes: int = 512 << 20
    """Rows of one Spark task up to this size are sorted in its memory, larger ones with the help of its disk."""

    # -- work that cores share

    cores: int | None = None
    """Cores that a query may use in process; None: all that the process may use."""

    shard_rows: int = 100_000
    """Rows of whole partitions that are worth a thread."""
    shards_per_core: int = 3
    """Several, so that a core that drew a large partition does not finish last by far."""
    rows_per_call: int = 25_000
    """Rows that are matched in the time that one shard holds Python's lock, while all others wait."""
    events_per_call: int = 15_000
    """Events that are joined in the time that one shard holds Python's lock."""
    piece_rows: int = 50_000
    """Rows of one sequence that are searched in the time that one piece holds Python's lock."""
    overlap_rows: int = 1_000
    """Rows of a piece that are searched again at first, until two searches meet."""
    overlap_growth: int = 8
    """How many times as many are if these did not do."""
    run_rows: int = 1 << 19
    """Rows that are searched together: the work per row is small then, and they still fit caches."""
    skewed_share: float = 0.5
    """A partition with such a share of the events is as much work as all others together."""
    sampled_leads: int = 64
    """Of so many events that are bound first, one is tried to see how many steps all of them take."""
    share_steps: int = 100_000
    """Steps of a compiled join that are worth a thread: a millisecond or so."""
    shares_per_thread: int = 2
    """Several, so that a thread that drew many matches does not finish last by far."""
    stretch_matches: int = 30_000
    """Matches that are worth a thread when they are put in order."""

    # -- events that cannot be in a match

    few_events: int = 8
    """Where partitions have fewer events on average, most have no match, and are looked through before sorting."""
    worth_leaving_out: float = 0.3
    """A smaller share of the events is not left out: to move the others takes longer."""

    cells_per_event: int = 16
    """Pairs of a partition and a stretch of time for each event at most: beyond, stretches far apart share them."""

    # -- numbers of matches

    few_ids: int = 4
    """So many matches are faster hashed one by one: a stream gives one at a time."""
    hashed_events: int = 8
    """By loops, all events are hashed where one in so many may be in a match: to find those takes longer."""
    repeated_texts: int = 32
    """Texts that are codes are hashed once each where they come so often on average: few are hashed in vain."""

    # -- reading in process

    small_file_rows: int = 125_000
    """Rows of a file up to which Arrow reads all of it and Motif computes conditions on rows."""

    # -- Spark

    exchange_bytes: int = 10 << 20
    """What one task reads and matches in the time that it takes Spark to set up an exchange."""
    one_task_bytes: int = 128 << 20
    """What one task reads at most: the size of an input partition of Spark. 0: every table is exchanged."""
    file_bytes: int = 1 << 20
    """What one task reads in the time that it takes to open a file: less on a local disk, more in an object store."""
    exchanged: float = 1.6
    """What a row that is exchanged and matched costs, all cores together, times one that is not exchanged."""
    handed_over: float = 2.0
    """What a row that Spark reads, hands over and has matched costs, times one that the worker reads by itself."""
    slice_windows: int = 8
    """Times WITHIN that a slice of time is long: of each, one window (or two) is sent to its neighbours as well."""
    shortest_slice: int = 1_000_000
    """Microseconds that a slice has at least."""

    def asks_for_code(self, rows: int) -> bool:
        """Whether it matters for so many rows where the machine code of their loop is: to find out takes a while."""
        return self.ready_rows <= rows < self.compile_rows


COSTS = Costs()
"""What is used where nobody passes others."""

COMPILED = replace(COSTS, compile_rows=0, ready_rows=0, plain_steps=0, kept_plain_steps=0)
"""Every loop is compiled, whatever it takes."""
PLAIN = replace(
    COSTS,
    compile_rows=NEVER,
    ready_rows=NEVER,
    plain_steps=NEVER,
    kept_plain_steps=NEVER,
)
"""Every loop is plain Python, however long it takes."""
HASTY = replace(PLAIN, plain_steps=5, kept_plain_steps=5, plain_search_pause=7, plain_join_pause=7, plain_point_pause=2)
"""Every loop goes over from plain Python to machine code after a few steps."""
