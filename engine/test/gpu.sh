#!/bin/bash
# On a machine with a GPU and nvcc: builds both backends into one test program, compares them bit for bit, looks for bad memory
# accesses with compute-sanitizer where there is one, and times the kernels. Run from anywhere; needs no network.
#   ASSAY_CUDA_ARCHS  compute capabilities to build for (default: 90, the fast way on an H100 or H200)
#   OUT               where the logs go (default: engine/build/gpu)
#   STEPS             which of "test sanitize bench" to run (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-build/gpu}
work=build/gpu
steps=${STEPS:-test sanitize bench}
mkdir -p "$out" "$work"

codes=()
for arch in ${ASSAY_CUDA_ARCHS:-90}; do codes+=(-gencode "arch=compute_$arch,code=sm_$arch"); done
nvcc -std=c++20 -O3 -Isrc --compress-mode=size -fatbin "${codes[@]}" src/cuda/kernels.cu -o "$work/kernels.fatbin" &
nvcc_pid=$!
flags=(-std=c++20 -O3 -Isrc -DASSAY_CUDA -Wall -Wextra)
pids=()
objects=()
for source in src/cuda/*.cpp src/cpu/*.cpp test/cpu_equals_cuda.cpp bench/bench.cpp; do
  object=$work/$(echo "$source" | tr / _).o
  g++ "${flags[@]}" -c "$source" -o "$object" &
  pids+=($!)
  case $source in src/*) objects+=("$object") ;; esac
done
wait "$nvcc_pid"
for pid in "${pids[@]}"; do wait "$pid"; done
cat > "$work/kernels.S" <<ASM
.section .rodata
.global assay_kernels_begin, assay_kernels_end
.balign 64
assay_kernels_begin: .incbin "$work/kernels.fatbin"
assay_kernels_end: .byte 0
.section .note.GNU-stack,"",%progbits
ASM
for program in test_cpu_equals_cuda bench_bench; do
  g++ "$work/$program.cpp.o" "${objects[@]}" "$work/kernels.S" -o "$work/${program#*_}" -ldl -lpthread
done

status=0
for step in $steps; do
  case $step in
    test) "$work/cpu_equals_cuda" 2>&1 | tee "$out/cpu_equals_cuda.log" || status=1 ;;
    sanitize)
      if command -v compute-sanitizer > /dev/null; then
        compute-sanitizer --tool memcheck --leak-check full --error-exitcode 9 "$work/cpu_equals_cuda" --small 2>&1 |
          tee "$out/memcheck.log" || status=1
        compute-sanitizer --tool racecheck --error-exitcode 9 "$work/cpu_equals_cuda" --small 2>&1 |
          tee "$out/racecheck.log" | tail -5 || status=1
      else
        echo "no compute-sanitizer here: skipped"
      fi ;;
    bench) "$work/bench" ${BENCH_FLAGS:-} 2>&1 | tee "$out/bench.jsonl" || status=1 ;;
  esac
done
exit $status
