#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, nvcc and PyTorch: builds the engine's bench, runs it and the vendor's library by turns
# (bench/vendor.py), and keeps each figure beside its ceiling in bench/results/<gpu>-<date>.json. Needs no network. Minutes: about two.
#   ASSAY_CUDA_ARCHS  targets to build for (default: 90a, an H100 or H200)
#   TURNS             how often each side is measured (default 5; the median counts)
#   REST              seconds of rest before each product on both sides (default 0.2)
#   WARM              seconds of the same product before it is timed, on both sides (default 0; with REST=0 WARM=0.2 a warm card is measured)
#   FIGURES           "products" for these and the copy alone (default: all)
#   NAME              added to the result's name
#   COMMIT            what is measured, where there is no git to ask
#   BENCH             a bench program already built, instead of building one
#   OUT               where the result goes (default: bench/results)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
COMMIT=${COMMIT:-$(git rev-parse --short=12 HEAD 2> /dev/null || echo unknown)}
export COMMIT
bench=${BENCH:-build/gpu/bench}
[ -n "${BENCH:-}" ] || STEPS=build engine/test/gpu.sh
out=${OUT:-bench/results}
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr 'A-Z ' 'a-z-' | sed 's/^nvidia-//')
mkdir -p "$out"
python3 bench/vendor.py "$bench" "$out/$gpu-$(date -u +%F)${NAME:+-$NAME}.json"
