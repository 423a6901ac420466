#!/usr/bin/env bash
# Runs a program with the Node that scripts/setup.sh chose: scripts/node.sh FILE [ARGUMENTS]
set -euo pipefail
own=$(dirname "${BASH_SOURCE[0]}")/../.toolchain/node_modules/.bin/node
if [ -x "$own" ]; then exec "$own" "$@"; else exec node "$@"; fi
