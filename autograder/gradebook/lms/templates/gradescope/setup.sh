#!/usr/bin/env bash
# Once, when Gradescope builds the image: Python 3.11, and the course's environment.
set -euo pipefail
apt-get update
apt-get install -y --no-install-recommends make python3.11 python3.11-venv
make -C /autograder/source/course PYTHON=python3.11 .venv/course.done
