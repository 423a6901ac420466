#!/usr/bin/env bash
# Builds the engine and its tests and runs all of them, without a GPU: maths and device as built; frames,
# devices and fuzz against the engine under AddressSanitizer and UBSan. The last line is "N passed, N failed".
#   engine/test/run.sh [--no-cuda]
# Environment: ASSAY_FUZZ multiplies the number of fuzz runs (default 1).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
engine/build.sh --tests "$@"
# What is checked is the maths and the engine. The programs that talk to it over pipes need no second build.
engine/build.sh --sanitize --test maths_test "$@"
case $(uname -m) in aarch64 | arm64) built=build/engine/linux-arm64 ;; *) built=build/engine/linux-x64 ;; esac
checked=$built-sanitize disk=build/engine/disk
mkdir -p $disk # of a real file system: direct I/O is tested there
runs=$(awk "BEGIN { print int(400 * ${ASSAY_FUZZ:-1} + 0.5) }")
# A crash must be a crash, not an exit code that a test could take for one of the engine's own.
# The search for leaks takes 4 s at each exit on arm64: it is done for two engines of the fuzzer, not for all.
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1

passed=0 failed=0
suite() {
  local log status=0 start=$SECONDS
  log=$("$@") || status=$?
  echo "== $*, $((SECONDS - start)) s" && echo "$log" | tail -30
  if [[ ${log##*$'\n'} =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    [ "$status" = 0 ] || [ "${BASH_REMATCH[2]}" != 0 ] || failed=$((failed + 1))
  else
    echo "FAILED $1 ended with status $status" && failed=$((failed + 1))
  fi
}
suite $built/maths_test vectors
suite $checked/maths_test vectors
suite $built/cpu_device_test vectors $disk
for engine in $built/assay-engine $checked/assay-engine; do
  suite $built/frames_test $engine vectors
  suite $built/devices_test $engine $disk
done
suite $built/frame_fuzz $checked/assay-engine "$runs"
ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 suite $built/frame_fuzz $checked/assay-engine 1 1000
echo "$passed passed, $failed failed"
[ $failed = 0 ]
