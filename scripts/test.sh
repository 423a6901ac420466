#!/usr/bin/env bash
# The whole test suite, in the order in which a failure is cheapest to find. `npm test` runs scripts/setup.sh first.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .toolchain/node_modules/.bin/node ] && export PATH="$PWD/.toolchain/node_modules/.bin:$PATH"
export PATH="$PWD/node_modules/.bin:$PATH"
# Hundreds of processes read the same sources: what Node made of them is kept, where bin/assay.mjs keeps it too.
export NODE_COMPILE_CACHE="$PWD/build/node-compile-cache"

echo "== types"
tsc -p .
echo "== lint and format"
biome check --error-on-warnings
# C++ tests, sanitizers and frame fuzzing; Solidity tests, invariants, gas; TypeScript.
exec node scripts/run-tests.ts
