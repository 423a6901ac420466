#!/usr/bin/env bash
# On a machine with a GPU and nvcc: builds the engine and its tests, compares the two backends bit for bit, looks for bad memory
# accesses with compute-sanitizer where there is one, and times the kernels. Run from anywhere; needs no network.
#   ASSAY_CUDA_ARCHS  targets to build for (default: 90a, the fast way on an H100 or H200)
#   OUT               where the logs go (default: build/gpu)
#   STEPS             which of "test sanitize build bench" to run (default: test sanitize bench; build makes the bench only)
#   BENCH_FLAGS       what bench.cpp takes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${OUT:-build/gpu}
steps=${STEPS-test sanitize bench}
mkdir -p "$out" build/gpu
export ASSAY_CUDA_ARCHS=${ASSAY_CUDA_ARCHS:-90a}
engine/build.sh --tests
case "$(uname -m)" in aarch64 | arm64) built=build/engine/linux-arm64 ;; *) built=build/engine/linux-x64 ;; esac
test=$built/cpu_equals_cuda

status=0
for step in $steps; do
  case $step in
    test) "$test" 2>&1 | tee "$out/cpu_equals_cuda.log" || status=1 ;;
    sanitize)
      if ! command -v compute-sanitizer > /dev/null; then echo "no compute-sanitizer here: skipped" && continue; fi
      for tool in "memcheck --leak-check full" racecheck; do
        # shellcheck disable=SC2086 # the tool comes with its own flags
        compute-sanitizer --tool $tool --error-exitcode 9 "$test" --small > "$out/${tool%% *}.log" 2>&1 || status=1
        echo "${tool%% *}:" && tail -4 "$out/${tool%% *}.log"
      done
      ;;
    build | bench)
      mapfile -t objects < <(find "$built/obj" -name '*.o' ! -name 'main_*')
      g++ -std=c++20 -O3 -Wall -Wextra -Iengine/src engine/bench/bench.cpp "${objects[@]}" -o build/gpu/bench -pthread -ldl
      [ "$step" = build ] && continue
      # shellcheck disable=SC2086 # several flags
      build/gpu/bench ${BENCH_FLAGS:-} 2>&1 | tee "$out/bench.jsonl" || status=1
      ;;
  esac
done
exit $status
