#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, nvcc and PyTorch: builds the engine's bench, runs it and the vendor's
# library by turns (bench/vendor.py); each figure beside its ceiling in bench/results/<gpu>-<date>.json.
#   ASSAY_CUDA_ARCHS  targets to build for (default: 90a, an H100 or H200)
#   TURNS             how often each side is measured (default 5; the median counts)
#   REST, WARM        seconds of rest, then of the same product untimed, before each product (0.2 and 0)
#   FIGURES           "products" for these and the copy alone (default: all)
#   NAME, OUT         added to the result's name; where it goes (default: bench/results)
#   COMMIT            what is measured, where there is no git to ask
#   BENCH             a bench program already built, instead of building one
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export COMMIT=${COMMIT:-$(git rev-parse --short=12 HEAD 2> /dev/null || echo unknown)}
case $(uname -m) in aarch64 | arm64) built=build/engine/linux-arm64 ;; *) built=build/engine/linux-x64 ;; esac
[ -n "${BENCH:-}" ] || ASSAY_CUDA_ARCHS=${ASSAY_CUDA_ARCHS:-90a} engine/build.sh --test bench
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr 'A-Z ' 'a-z-' | sed 's/^nvidia-//')
mkdir -p "${OUT:=bench/results}"
python3 bench/vendor.py "${BENCH:-$built/bench}" "$OUT/$gpu-$(date -u +%F)${NAME:+-$NAME}.json"
