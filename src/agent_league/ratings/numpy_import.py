"""How numpy is imported: with a single thread.

OpenBLAS starts a thread for every core when numpy is imported. Our matrices are so small that these cost twice the CPU
time and save nothing, and every process that rates somebody would have them.
"""

import os
import sys

THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
    """Import numpy with one thread, unless it is there already or the environment says otherwise."""
    if "numpy" in sys.modules or THREADS_VARIABLE in os.environ:
        return
    os.environ[THREADS_VARIABLE] = "1"
    try:
        import numpy as np  # noqa: F401, PLC0415 - only for its effect
    finally:
        del os.environ[THREADS_VARIABLE]
