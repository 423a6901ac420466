#!/usr/bin/env bash
# Builds the engine and its tests and runs all of them, without a GPU: maths and device as built; frames,
# devices and fuzz against the engine under AddressSanitizer and UBSan. The last line is "N passed, N failed".
#   engine/test/run.sh [--build|--run] [--no-cuda]
#   --build, --run  one of the two alone
# Environment: ASSAY_FUZZ multiplies the number of fuzz runs (default 1).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
part=all
case ${1-} in --build | --run) part=${1#--} && shift ;; esac
if [ $part != run ]; then
  engine/build.sh --tests "$@"
  # What is checked is the maths and the engine. The programs that talk to it over pipes need no second build.
  engine/build.sh --sanitize --test maths_test --test work_test --test work_verdicts "$@"
fi
[ $part != build ] || exit 0
case $(uname -m) in aarch64 | arm64) built=build/engine/linux-arm64 ;; *) built=build/engine/linux-x64 ;; esac
checked=$built-sanitize disk=build/engine/disk
mkdir -p $disk/{plain,checked,cpu} # of a real file system: direct I/O is tested there; a folder each
half=$(awk "BEGIN { print int(200 * ${ASSAY_FUZZ:-1} + 0.5) }")
# Of each operator and type: 10,000 in a deep run.
ops=$(awk "BEGIN { print int(400 * ${ASSAY_FUZZ:-1} + 0.5) }") checked_ops=$(awk "BEGIN { print int(40 * ${ASSAY_FUZZ:-1} + 0.5) }")
# A crash must be a crash, not an exit code that a test could take for one of the engine's own.
# The search for leaks takes 4 s at each exit on arm64: it is done for two engines of the fuzzer, not for all.
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1

# Two at a time: most of them wait for an engine more than they compute.
logs=$(mktemp -d) count=0
trap 'rm -rf "$logs"' EXIT
suite() {
  [ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n || true
  local log
  log=$logs/$((++count))
  {
    local start=$SECONDS status=0
    "$@" > "$log.out" 2> "$log.err" || status=$?
    echo "$status == $*, $((SECONDS - start)) s" > "$log"
  } &
}
ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 suite $built/frame_fuzz $checked/assay-engine 1 1000 vectors
suite $built/frame_fuzz $checked/assay-engine "$half" 1 vectors
suite $built/frame_fuzz $checked/assay-engine "$half" $((half + 1)) vectors
suite $built/devices_test $checked/assay-engine $disk/checked
suite $built/frames_test $checked/assay-engine vectors
suite $built/devices_test $built/assay-engine $disk/plain
suite $built/frames_test $built/assay-engine vectors
suite $built/cpu_device_test vectors $disk/cpu
suite $built/fuse_test
suite $built/map_ptx_test
suite $checked/maths_test vectors
suite $checked/work_test vectors "$checked_ops"
suite $built/maths_test vectors
suite $built/work_test vectors "$ops"
wait || true

passed=0 failed=0
for number in $(seq $count); do
  log=$logs/$number
  read -r status name < "$log"
  last=$(tail -1 "$log.out")
  echo "$name" && tail -30 "$log.out" && tail -30 "$log.err"
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    [ "$status" = 0 ] || [ "${BASH_REMATCH[2]}" != 0 ] || failed=$((failed + 1))
  else
    echo "FAILED $name ended with status $status" && failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
