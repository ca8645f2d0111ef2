"""What a database knows of the batches written to a table, noted in the transaction that writes them."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass

from motif.errors import MotifError
from motif.hosts.spark.sink_connection import MARK, Link, dotted, first_line
from motif.hosts.spark.sink_identity import named

NAME = "motif_batches"
_NOT_WHOLE = "a batch that fails half-way would stay there in part"
_WHOLE = "connect without autocommit, to a database and a table with transactions (in MySQL: ENGINE=InnoDB)"


@dataclass(frozen=True)
class Ledger:
    """The last batch of each stream that writes to a table; beside it, in its schema."""

    link: Link
    sink: str

    @property
    def table(self) -> str:
        """The name of the ledger itself."""
        return dotted(".".join((*self.sink.split(".")[:-1], NAME)))

    def last(self, batch: int, query: str, *, has_key: bool) -> int | None:
        """The last batch of this stream that was written here."""
        known = self._notes(self.sink)
        last = known.pop(query, None)
        # With a key, a match that is there already is met again and stays one; without, it would be there twice.
        if not has_key and known:
            raise MotifError(
                f"table {self.sink} holds the matches of another stream ({named(next(iter(known)))}); without key= "
                "a stream with a new checkpoint would write its matches a second time",
                hint="start with the old checkpoint, or give key=, or another table, or delete the rows of "
                f"{self.sink} and of {NAME} with sink = '{self.sink}'",
            )
        if not has_key and last is not None and batch < last:
            raise MotifError(
                f"batch {batch} comes again after batch {last} was written to {self.sink}: its checkpoint was set back",
                hint="put the checkpoint back, or give key=, so that a match that is there already stays one",
            )
        return last

    def note(self, query: str, last: int | None, batch: int) -> None:
        """Remember the batch; a process that was overtaken by another one finds out here."""
        if last is None:
            self._add(query, self.sink, batch)
            return
        where = f"query_id = {MARK} AND sink = {MARK} AND batch_id = {MARK}"
        self.link.run(f"UPDATE {self.table} SET batch_id = {MARK} WHERE {where}", batch, query, self.sink, last)
        if self.link.cursor.rowcount == 0:
            raise MotifError(
                f"another process has written batch {batch} to {self.sink} meanwhile", hint="run the stream only once"
            )

    def prove(self) -> None:
        """Make sure that what is written can be taken back: not every database, connection and table does that."""
        trial = secrets.token_hex(8)
        try:
            with self.link.trial():
                self._add(trial, trial, 0)
        except self.link.error as error:
            raise MotifError(
                f"the database takes nothing back: {first_line(error)}; {_NOT_WHOLE}", hint=_WHOLE
            ) from None
        if self._notes(trial):
            with self.link.transaction():
                self.link.run(f"DELETE FROM {self.table} WHERE sink = {MARK}", trial)
            raise MotifError(f"the database does not take back what is rolled back; {_NOT_WHOLE}", hint=_WHOLE)
        if engine := self._engine():
            raise MotifError(f"table {self.sink} is of {engine}, which has no transactions; {_NOT_WHOLE}", hint=_WHOLE)

    def _engine(self) -> str | None:
        """What keeps the table, where a database has several ways (MySQL, MariaDB) and this one has no transactions."""
        *schema, name = self.sink.split(".")
        text = (
            "SELECT t.engine FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine"
            f" WHERE e.transactions <> 'YES' AND t.table_name = {MARK} AND t.table_schema = "
        )
        with suppress(self.link.error):  # No other database has such tables.
            found = self.link.rows(text + (MARK if schema else "DATABASE()"), name, *schema)
            return found[0][0] if found else None
        return None

    def _notes(self, sink: str) -> dict[str, int]:
        """The last batch by query, of those that write to a table."""
        text = f"SELECT query_id, batch_id FROM {self.table} WHERE sink = {MARK}"
        columns = "query_id VARCHAR(255) NOT NULL, sink VARCHAR(255) NOT NULL, batch_id BIGINT NOT NULL"
        create = f"CREATE TABLE IF NOT EXISTS {self.table} ({columns}, PRIMARY KEY (query_id, sink))"
        what = f"table {NAME}, which remembers the last batch,"
        return self.link.created(create, what, lambda: dict(self.link.rows(text, sink)))

    def _add(self, query: str, sink: str, batch: int) -> None:
        names = f"(query_id, sink, batch_id) VALUES ({MARK}, {MARK}, {MARK})"
        self.link.run(f"INSERT INTO {self.table} {names}", query, sink, batch)
