#!/bin/sh
# The same on every machine: run the tests with other BLAS kernels, numbers of threads and vector units.
# Usage: tests/portability.sh [arguments of pytest]; PYTHON=... for another interpreter.
# A kernel that this processor cannot run, or that its OpenBLAS does not take, is skipped; the one taken is printed.
set -u
PYTHON=${PYTHON:-.venv/bin/python}
vectors=$("$PYTHON" -c '
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(" ".join(name for name in __cpu_dispatch__ if __cpu_features__[name]))')
status=0

# Print the kernel that the OpenBLAS of NumPy has taken, after a product that uses it; "unknown" for another library.
taken='
import ctypes, re
import numpy as np
np.ones((64, 64)) @ np.ones((64, 64))
with open("/proc/self/maps") as maps:
    files = sorted(set(re.findall(r"/\S*openblas\S*", maps.read())))
names = [p + "openblas_get_corename" + s for p in ("scipy_", "") for s in ("64_", "")]
for library in map(ctypes.CDLL, files):
    for name in names:
        if hasattr(library, name):
            found = getattr(library, name)
            found.restype = ctypes.c_char_p
            print(found().decode())
            raise SystemExit
print("unknown")'

run() {
    echo "== $*"
    if ! found=$(env "$@" "$PYTHON" -c "$taken" 2>/dev/null); then
        echo "   skipped: not on this processor"
        return
    fi
    echo "   kernel taken: $found"
    asked=$(printf '%s\n' "$@" | sed -n 's/^OPENBLAS_CORETYPE=//p')
    # Builds without a kernel of its own for Katmai have that name for the one of Prescott.
    case "$asked:$found" in
        :* | "$found:$found" | Prescott:Katmai) ;;
        *)
            echo "   skipped: $asked was not taken"
            return
            ;;
    esac
    # $arguments is split into words on purpose.
    # shellcheck disable=SC2086
    env "$@" "$PYTHON" -m pytest -q -p no:cacheprovider $arguments || status=1
}

arguments=${*:-"-n 2"}
for kernel in Haswell SkylakeX Zen Prescott; do
    for threads in 1 2; do
        run OPENBLAS_CORETYPE=$kernel OPENBLAS_NUM_THREADS=$threads OMP_NUM_THREADS=$threads
    done
done
run NPY_DISABLE_CPU_FEATURES="$(echo "$vectors" | tr ' ' '\n' | grep -E 'AVX512|V4' | tr '\n' ' ')"
run NPY_DISABLE_CPU_FEATURES="$vectors"
exit $status
