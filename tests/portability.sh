#!/bin/sh
# The same on every machine: run the tests with other BLAS kernels, numbers of threads and vector units.
# Usage: tests/portability.sh [arguments of pytest]; PYTHON=... for another interpreter.
# A setting that this processor cannot run (a kernel that needs instructions it lacks) is skipped.
set -u
PYTHON=${PYTHON:-.venv/bin/python}
vectors=$("$PYTHON" -c '
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(" ".join(name for name in __cpu_dispatch__ if __cpu_features__[name]))')
status=0

run() {
    echo "== $*"
    if ! env "$@" "$PYTHON" -c 'import numpy as np; np.ones((64, 64)) @ np.ones((64, 64))' >/dev/null 2>&1; then
        echo "   not on this processor"
        return
    fi
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
