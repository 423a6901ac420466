#!/usr/bin/env bash
# The whole test suite, in the order in which a failure is cheapest to find. `npm test` runs scripts/setup.sh first.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .toolchain/node_modules/.bin/node ] && export PATH="$PWD/.toolchain/node_modules/.bin:$PATH"
export PATH="$PWD/node_modules/.bin:$PATH"

echo "== types"
tsc -p .
echo "== lint and format"
biome check --error-on-warnings
echo "== engine: C++ tests, sanitizers, frame fuzzing; meanwhile the contracts"
# Beside each other: both are half compiling, half waiting. Not beside the TypeScript tests, some of which have deadlines.
mkdir -p build
node --test "contracts/**/*.test.ts" > build/contracts.log 2>&1 &
contracts=$!
trap 'kill "$contracts" 2> /dev/null || true' EXIT
bash engine/test/run.sh
echo "== contracts: Solidity tests, invariants, gas"
status=0
wait "$contracts" || status=$?
trap - EXIT
cat build/contracts.log
[ "$status" = 0 ]
echo "== TypeScript"
# One file after the other would leave a core idle; more at once would make deadline tests depend on luck.
node --test --test-concurrency=2 "src/**/*.test.ts" "vectors/**/*.test.ts" "scripts/**/*.test.ts" "tests/**/*.test.ts" "web/**/*.test.ts"
