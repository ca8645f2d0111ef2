"""Spark as the host: exchange by key, one pass of the engine in the Python workers, scalars before and after.

Public PySpark calls, so that classic and Connect sessions work alike; what only a classic one tells, such as sizes of
tables, is of use but never needed.
"""

import pyspark

from motif.errors import MotifError

OLDEST = (4, 2)
"""Streams need the state that Spark has since then, and `mapInArrow` its types."""

if tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < OLDEST:
    raise MotifError(
        f"Motif needs PySpark {'.'.join(map(str, OLDEST))} or newer, and this is {pyspark.__version__}",
        hint="pip install 'motif-cep[spark]'; in process, Motif needs no Spark: give an Arrow or pandas table",
    )
