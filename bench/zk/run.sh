#!/usr/bin/env bash
# On a machine with an NVIDIA GPU and nvcc: proofs (docs/zk.md) on the card equal the CPU's, and how long they
# take, in bench/results/<gpu>-<date>-zk.json. With Node and PyTorch also whole runs (digits.ts, wrap.ts).
#   ASSAY_CUDA_ARCHS  targets to build for (default: 90a, an H100 or H200)
#   BUILT             a folder with the four programs, instead of building them
#   OUT               where the result goes (default: bench/results)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case $(uname -m) in aarch64 | arm64) built=build/engine/linux-arm64 ;; *) built=build/engine/linux-x64 ;; esac
[ -n "${BUILT:-}" ] || ASSAY_CUDA_ARCHS=${ASSAY_CUDA_ARCHS:-90a} engine/build.sh --test proofs_equal_cuda --test proof_bench --test groth16_equal_cuda --test groth16_bench
built=${BUILT:-$built}
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr 'A-Z ' 'a-z-' | sed 's/^nvidia-//')
mkdir -p "${OUT:=bench/results}"
equal="$("$built/proofs_equal_cuda" | tee /dev/stderr | tail -1); $("$built/groth16_equal_cuda" vectors | tee /dev/stderr | tail -1)"
digits() { ! command -v node > /dev/null || { node bench/zk/digits.ts "$(mktemp -d)" && node bench/zk/wrap.ts; }; }
{ "$built/proof_bench" && "$built/groth16_bench" && digits; } | tee /dev/stderr | awk -v equal="$equal" -v gpu="$gpu" '
  BEGIN { printf "{\n\t\"gpu\": \"%s\",\n\t\"powers\": \"test parameters (not secure)\",\n\t\"equal\": \"%s\",\n\t\"figures\": [", gpu, equal }
  { printf "%s\n\t\t%s", (NR > 1 ? "," : ""), $0 }
  END { print "\n\t]\n}" }' > "$OUT/$gpu-$(date -u +%F)-zk.json"
