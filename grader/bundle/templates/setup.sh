#!/usr/bin/env bash
# Gradescope runs this once, as root and with the network, when it makes the autograder's image.
set -euo pipefail
root="${AUTOGRADER_ROOT:-/autograder}"
source="$root/source"

find_python() {
    for python in "${AUTOGRADER_PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$python" ] && "$python" -c \
            'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
            return 0
        fi
    done
    return 1
}

install() {
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes "$@"
}

find_python || install python3-venv || true
find_python || install python3.11 python3.11-venv || true
if ! find_python; then
    echo "no Python 3.11 or later here: choose a newer Ubuntu as the autograder's base image" >&2
    exit 1
fi

"$python" -m venv "$root/venv"
pip() { "$root/venv/bin/python" -m pip --disable-pip-version-check install --no-cache-dir "$@"; }
pip --requirement "$source/torch-requirements.txt"
pip --requirement "$source/requirements.txt"
for packages in "$root"/venv/lib/python3*/site-packages; do
    echo "$source/lib" > "$packages/grader.pth"
done
"$root/venv/bin/python" -m compileall -q "$source/lib"

# Keys are for grader alone, also where a submission would run as another user.
chmod -R go-rwx "$source/course"
"$root/venv/bin/python" -s -P -c 'from grader.cli.main import main; main()' doctor || true
