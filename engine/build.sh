#!/usr/bin/env bash
# Builds build/engine/<platform>/assay-engine with CMake and Ninja, or with g++ alone for the CPU alone.
#   engine/build.sh [--platform linux-arm64|linux-x64] [--sanitize|--tsan] [--tests|--test NAME]… [--no-cuda]
#     [--cards auto|"9.0 …"]
#   --sanitize, --tsan  into <platform>-sanitize (AddressSanitizer and UBSan) or <platform>-tsan
#   --tests, --test     also the test programs that need no card, or one program: a test or a bench
#   --cards             GPU code for cards of these compute capabilities (cards.cmake); auto: this machine's;
#                       none: the CPU alone
# Environment: ASSAY_CUDA_ARCHS="86 90a" device code for these alone, `tests` a few of all kinds where no card
#   is, `as75` the code of compute capability 7.5 on a newer card; ASSAY_JOBS parallel compilers; NVCC.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
fail() { echo "engine/build.sh: $2" >&2; exit "$1"; }
usage() { sed -n '3,10s/^# \{0,1\}//p' build.sh >&2; exit 64; }

case $(uname -m) in aarch64 | arm64) native=linux-arm64 ;; *) native=linux-x64 ;; esac
platform=$native variant="" targets=(assay-engine) nvcc=${NVCC:-auto} archs=${ASSAY_CUDA_ARCHS:-} cards=any
[ "$archs" != tests ] || [ ! -e /dev/nvidiactl ] || archs=""
while [ $# -gt 0 ]; do
  case $1 in
    --platform) platform=${2-} && shift ;;
    --sanitize | --tsan) variant=-${1#--} ;;
    --tests) targets+=(tests) ;;
    --test) [ -f "test/${2-}.cpp" ] || [ -f "bench/${2-}.cpp" ] || usage; targets+=("$2") && shift ;;
    --no-cuda) nvcc=off ;;
    --cards) cards=${2-} && shift ;;
    *) usage ;;
  esac
  shift
done
case $platform in
  linux-arm64)
    cxx=aarch64-linux-gnu-g++ package=g++-aarch64-linux-gnu
    sets=("base" "dotprod -march=armv8.2-a+dotprod")
    ;;
  linux-x64)
    cxx=x86_64-linux-gnu-g++ package=g++-x86-64-linux-gnu
    sets=("base" "v3 -march=x86-64-v3" "v4 -march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512")
    ;;
  *) fail 64 "unknown platform '$platform' (linux-arm64 or linux-x64)" ;;
esac
[ "$platform" != "$native" ] || cxx=g++ package=g++
command -v "$cxx" > /dev/null || fail 69 "$cxx is missing; on Debian or Ubuntu: apt-get install $package"

built=../build/engine out=../build/engine/$platform$variant jobs=${ASSAY_JOBS:-$(nproc)}
mkdir -p "$out"
exec 9> $built/.lock
flock 9 # two builds at once would trip over each other's files

if command -v cmake > /dev/null && command -v ninja > /dev/null; then
  # A build folder that was copied or moved is CMake's no more.
  for folder in "$out" $built/device*; do
    grep -qs "^CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt" || rm -rf "$folder"/CMake{Cache.txt,Files}
  done
  cmake --preset "$platform$variant" -DASSAY_NVCC="$nvcc" -DASSAY_CUDA_ARCHS="$archs" -DASSAY_CARDS="$cards" > /dev/null
  cmake --build "$out" --parallel "$jobs" --target "${targets[@]}" >&2
  cp "$out/cards.next" "$out/cards"
  exit
fi

[ -z "$variant" ] && [ ${#targets[@]} = 1 ] || fail 69 "tests and sanitizers need CMake: apt-get install cmake ninja-build"
[ -z "$(find build.sh src ../package.json -newer "$out/assay-engine" -print -quit 2>&1)" ] && exit
echo "engine/build.sh: no GPU code, because there is no CMake here: apt-get install cmake ninja-build" >&2
objects=$(mktemp -d) && trap 'rm -rf "$objects"' EXIT
flags=(-std=c++20 -O3 -ffp-contract=off -fno-math-errno -pthread -Isrc -I. -DASSAY_NO_CARDS
  "-DASSAY_VERSION='\"$(sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' ../package.json | head -1)\"'")
compile() { echo "$cxx ${flags[*]} $*"; }
# The files of a folder at once, as CMakeLists.txt does it, without what runs on a card.
{ find src -name '*.cpp' ! -path 'src/cuda/*' ! -path src/cpu/kernels.cpp; ls src/cuda/{driver_api,find_devices,kernels}.cpp; } | while read -r file; do
  group=$(dirname "$file" | sed -E 's#^src(/(attest|commands|disk|probe|sandbox|server|wire))?$#service#; s#^src/zk/.+#zk_parts#; s#/#_#g')
  echo "#include \"$file\"" >> "$objects/$group.cpp"
done
{
  for set in "${sets[@]}"; do compile "-DASSAY_ISA=$set -c src/cpu/kernels.cpp -o $objects/kernels_${set%% *}.o"; done
  for file in "$objects"/*.cpp; do compile "-c $file -o ${file%.cpp}.o"; done
} | tr '\n' '\0' | xargs -0 -P "$jobs" -I{} bash -c '{}'
"$cxx" "$objects"/*.o -s -static-libstdc++ -pthread -ldl -o "$out/assay-engine"
