#!/usr/bin/env bash
# On a machine with a GPU and nvcc: compares the two backends bit for bit, then looks for bad memory accesses,
# reads of memory nobody wrote and races with compute-sanitizer where there is one. Needs no network. bench/run.sh times the kernels.
#   ASSAY_CUDA_ARCHS  targets to build for (default: 90a, an H100 or H200)
#   OUT               where the logs go (default: build/gpu)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${OUT:-build/gpu} status=0
mkdir -p "$out"
ASSAY_CUDA_ARCHS=${ASSAY_CUDA_ARCHS:-90a} engine/build.sh --test cpu_equals_cuda --test programs_equal_cuda --test proofs_equal_cuda
case $(uname -m) in aarch64 | arm64) built=build/engine/linux-arm64 ;; *) built=build/engine/linux-x64 ;; esac
test=$built/cpu_equals_cuda
$test 2>&1 | tee "$out/cpu_equals_cuda.log" || status=1
$built/programs_equal_cuda 2>&1 | tee "$out/programs_equal_cuda.log" || status=1
$built/proofs_equal_cuda 2>&1 | tee "$out/proofs_equal_cuda.log" || status=1
# A driver that compiles nothing: maps are interpreted.
CUDA_DISABLE_PTX_JIT=1 $built/programs_equal_cuda 40 2>&1 | tee "$out/no_compiler.log" || status=1
command -v compute-sanitizer > /dev/null || { echo "no compute-sanitizer here: skipped" && exit $status; }
compute-sanitizer --error-exitcode 9 $built/programs_equal_cuda 4 > "$out/programs_memcheck.log" 2>&1 || status=1
compute-sanitizer --error-exitcode 9 $built/proofs_equal_cuda --small > "$out/proofs_memcheck.log" 2>&1 || status=1
echo "proofs:" && tail -2 "$out/proofs_memcheck.log"
echo "programs:" && tail -2 "$out/programs_memcheck.log"
compute-sanitizer --leak-check full --error-exitcode 9 $test --small > "$out/memcheck.log" 2>&1 || status=1
echo "memcheck:" && tail -4 "$out/memcheck.log"
for tool in racecheck initcheck synccheck; do
  for program in cpu_equals_cuda programs_equal_cuda; do
    compute-sanitizer --tool $tool --error-exitcode 9 $built/$program --tiny > "$out/${tool}_$program.log" 2>&1 || status=1
    echo "$tool:" && tail -2 "$out/${tool}_$program.log"
  done
done
exit $status
