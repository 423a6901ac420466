#!/usr/bin/env bash
# On a machine with a GPU and nvcc: compares the two backends bit for bit, then looks for bad memory accesses,
# reads of memory nobody wrote and races with compute-sanitizer where there is one. bench/run.sh times them.
#   ASSAY_CUDA_ARCHS  targets to build for (default: 90a, an H100 or H200)
#   OUT               where the logs go (default: build/gpu)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0 && mkdir -p "${OUT:=build/gpu}"
ASSAY_CUDA_ARCHS=${ASSAY_CUDA_ARCHS:-90a} engine/build.sh --test cpu_equals_cuda --test programs_equal_cuda --test proofs_equal_cuda --test groth16_equal_cuda
case $(uname -m) in aarch64 | arm64) built=build/engine/linux-arm64 ;; *) built=build/engine/linux-x64 ;; esac
for program in cpu_equals_cuda programs_equal_cuda proofs_equal_cuda; do
  $built/$program 2>&1 | tee "$OUT/$program.log" || status=1
done
$built/groth16_equal_cuda vectors 2>&1 | tee "$OUT/groth16_equal_cuda.log" || status=1
# A driver that compiles nothing: programs are refused with what to do.
CUDA_CACHE_DISABLE=1 CUDA_DISABLE_PTX_JIT=1 $built/programs_equal_cuda 1 > "$OUT/no_compiler.log" 2>&1 && status=1
grep libnvidia-ptxjitcompiler "$OUT/no_compiler.log" || status=1
command -v compute-sanitizer > /dev/null || { echo "no compute-sanitizer here: skipped" && exit $status; }
check() { # the log's name, what to look for, the program
  compute-sanitizer --error-exitcode 9 "${@:2}" > "$OUT/$1.log" 2>&1 || status=1
  echo "$1:" && tail -4 "$OUT/$1.log"
}
check programs_memcheck $built/programs_equal_cuda 4
for name in proofs groth16; do check ${name}_memcheck $built/${name}_equal_cuda --small; done
check memcheck --leak-check full $built/cpu_equals_cuda --small
for tool in racecheck initcheck synccheck; do
  for program in cpu_equals_cuda programs_equal_cuda; do check ${tool}_$program --tool $tool $built/$program --tiny; done
done
exit $status
