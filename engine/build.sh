#!/usr/bin/env bash
# Builds assay-engine: C++20 for the host, and with nvcc the device code, embedded as one fat binary.
#
#   engine/build.sh [--platform linux-arm64|linux-x64] [--sanitize | --tsan] [--tests | --test NAME]… [--no-cuda]
#
# Result: build/engine/<platform>/assay-engine (with --sanitize in <platform>-sanitize: AddressSanitizer and UBSan; with
# --tsan in <platform>-tsan). --tests adds the test programs beside it, --test one of them. Nothing is rebuilt unless sources,
# flags or compilers changed.
# Environment: ASSAY_CUDA_ARCHS="90" builds device code for these only; ASSAY_JOBS bounds parallel compilers; NVCC names nvcc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { sed -n '2,9s/^# \{0,1\}//p' engine/build.sh >&2; exit 64; }

case "$(uname -m)" in
  aarch64 | arm64) native=linux-arm64 ;;
  x86_64 | amd64) native=linux-x64 ;;
  *) native=unknown ;;
esac
platform=$native variant=plain tests=() cuda=1
while [ $# -gt 0 ]; do
  case "$1" in
    --platform) [ $# -ge 2 ] || usage; platform=$2; shift ;;
    --sanitize) variant=sanitize ;;
    --tsan) variant=tsan ;;
    --tests) mapfile -t tests < <(find engine/test -name '*.cpp' | LC_ALL=C sort) ;;
    --test)
      [ $# -ge 2 ] && [ -f "engine/test/$2.cpp" ] || usage
      tests+=("engine/test/$2.cpp")
      shift
      ;;
    --no-cuda) cuda=0 ;;
    *) usage ;;
  esac
  shift
done

case "$platform" in
  linux-arm64) prefix=aarch64-linux-gnu package=g++-aarch64-linux-gnu ;;
  linux-x64) prefix=x86_64-linux-gnu package=g++-x86-64-linux-gnu ;;
  *) echo "engine/build.sh: unknown platform '$platform' (linux-arm64 or linux-x64)" >&2; exit 64 ;;
esac
if [ "$platform" = "$native" ]; then cxx=g++ package=g++ strip=strip; else cxx=$prefix-g++ strip=$prefix-strip; fi
if ! command -v "$cxx" > /dev/null; then
  echo "engine/build.sh: $cxx is missing; on Debian or Ubuntu: apt-get install $package" >&2
  exit 69
fi

out=build/engine/$platform
[ "$variant" = plain ] || out=$out-$variant
mkdir -p "$out/obj"
exec 9> build/engine/.lock
flock 9 # two builds at once would trip over each other's objects
jobs=${ASSAY_JOBS:-$(nproc)}
version=$(sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' package.json | head -1)
hash_of() { sha256sum | cut -c1-24; }

# ---- device code: one fat binary for all host platforms
nvcc=${NVCC:-$(command -v nvcc || true)}
[ -n "$nvcc" ] || { [ -x /usr/local/cuda/bin/nvcc ] && nvcc=/usr/local/cuda/bin/nvcc; } || true
fatbin=build/engine/kernels.fatbin
cu_files=$(find engine/src/cuda -name '*.cu' | LC_ALL=C sort)
if [ -z "$nvcc" ] || [ -z "$cu_files" ]; then cuda=0; fi
# Device code and the headers it names: a change of the host's own headers does not rebuild it.
device_sources() {
  find engine/src/cuda -name '*.cu' -o -name '*.cuh'
  find engine/src/core -name '*.hpp'
  find engine/src/cuda \( -name '*.cu' -o -name '*.cuh' \) -exec sed -n 's|^#include "\([a-z_]*\.hpp\)".*|engine/src/cuda/\1|p' {} +
}
if [ "$cuda" = 1 ]; then
  read -r -a archs <<< "${ASSAY_CUDA_ARCHS:-75 80 86 89 90a 100 120}"
  gencode=()
  for arch in "${archs[@]}"; do gencode+=(-gencode "arch=compute_${arch%a},code=sm_$arch"); done
  # For cards that are newer than this list: the driver compiles it.
  [ -n "${ASSAY_CUDA_ARCHS:-}" ] || gencode+=(-gencode arch=compute_120,code=compute_120)
  for i in "${!gencode[@]}"; do case "${gencode[$i]}" in *sm_*a) gencode[i]=${gencode[$i]/,code/a,code} ;; esac; done
  nvcc_flags=(-std=c++20 -O3 -fatbin --compress-mode=size --threads 2 -Iengine/src)
  want=$({
    "$nvcc" --version
    echo "${gencode[*]} ${nvcc_flags[*]}"
    device_sources | LC_ALL=C sort -u | xargs sha256sum
  } | hash_of)
  if [ ! -f "$fatbin" ] || [ "$(cat "$fatbin.hash" 2> /dev/null)" != "$want" ]; then
    echo "engine/build.sh: device code for sm_ ${archs[*]}" >&2
    for file in $cu_files; do echo "#include \"$PWD/$file\""; done > build/engine/kernels.cu
    "$nvcc" "${nvcc_flags[@]}" "${gencode[@]}" build/engine/kernels.cu -o "$fatbin.new"
    mv "$fatbin.new" "$fatbin"
    echo "$want" > "$fatbin.hash"
  fi
fi

# ---- host code
# -Wno-restrict: GCC 12 warns of an overlap that cannot be in its own std::string (its bug 105651).
flags=(-std=c++20 -Wall -Wextra -Werror -Wno-restrict -O3 -ffp-contract=off -fno-math-errno -pthread -fdata-sections -ffunction-sections
  "-DASSAY_VERSION=\"$version\"" -Iengine/src)
link=(-pthread -ldl -Wl,--gc-sections)
case "$variant" in
  # libgcc stays shared: linked in, it asks for glibc 2.35 (_dl_find_object), and hosts with 2.34 (RHEL 9) are common.
  plain) link+=(-static-libstdc++) ;;
  sanitize)
    flags+=(-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS)
    link+=(-fsanitize=address,undefined)
    ;;
  tsan) flags+=(-O1 -g -fsanitize=thread) link+=(-fsanitize=thread) ;;
esac
hash_headers() { find "$@" \( -name '*.hpp' -o -name '*.inc' \) -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | hash_of; }
headers="$("$cxx" --version | head -1) $(hash_headers engine/src -path engine/src/cuda -prune -o)"
cuda_headers=$(hash_headers engine/src/cuda)

# Reading the standard library is most of compiling a small file, so many of them share one reading of it. Most objects are the same byte
# for byte without; in a few, shared pointers are inlined otherwise. <iostream> stays out: it would put its start-up code into each.
precompiled=$out/obj/standard.hpp
objects=() pending=() pending_alone=()
# add <source> <name of the object> [flags…]; an object is named after the hash of all that it is made of.
add() {
  local source=$1 name=$2 key
  shift 2
  key=$({ echo "$headers ${flags[*]} $*"; case "$source" in *cuda*) echo "$cuda_headers" ;; esac; cat "$source"; } | hash_of)
  local object=$out/obj/$name-$key.o
  last_object=$object
  objects+=("$object")
  [ -f "$object" ] && return
  rm -f "$out/obj/$name"-????????????????????????.o
  printf -v command '%q ' "$cxx" "${flags[@]}" "$@" -c "$source" -o "$object.new"
  command="$command && mv $object.new $object"
  # Code for other processors than the rest, and assembly, cannot share it; in hello.cpp sharing shows the bug of -Wno-restrict again.
  case "$name" in kernels_* | commands_hello) pending_alone+=("$command") ;; *) pending+=("$command") ;; esac
}
kernels=engine/src/cpu/kernels.cpp
add $kernels kernels_base -DASSAY_ISA=base
case "$platform" in
  linux-arm64) add $kernels kernels_dotprod -DASSAY_ISA=dotprod -march=armv8.2-a+dotprod ;;
  linux-x64)
    add $kernels kernels_v3 -DASSAY_ISA=v3 -march=x86-64-v3
    add $kernels kernels_v4 -DASSAY_ISA=v4 -march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512
    ;;
esac
for source in $(find engine/src -name '*.cpp' ! -path $kernels ! -name main.cpp ! -name no_cuda.cpp | LC_ALL=C sort); do
  name=${source#engine/src/}
  extra=()
  case "$cuda$name" in 1cuda/* | 1commands/hello.cpp) extra=(-DASSAY_CUDA=1) ;; esac
  add "$source" "$(echo "${name%.cpp}" | tr / _)" "${extra[@]}"
done
# Until there is a CUDA backend in the tree, the engine says so itself.
compgen -G 'engine/src/cuda/*.cpp' > /dev/null || add engine/src/no_cuda.cpp no_cuda
if [ "$cuda" = 1 ]; then
  # The name of the file in the object's command line carries its hash, so a new fat binary makes a new object.
  cat > build/engine/kernels_embed.S.new <<ASM
    .section .rodata
    .balign 64
    .global assay_kernels_begin
    .global assay_kernels_end
assay_kernels_begin:
    .incbin "$fatbin"
assay_kernels_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
ASM
  mv build/engine/kernels_embed.S.new build/engine/kernels_embed.S
  add build/engine/kernels_embed.S kernels_embed "-DASSAY_FATBIN=$(cat "$fatbin.hash")"
fi
library=("${objects[@]}")

programs=()
# program <output> <source>: linked from its own object and all others.
program() {
  add "$2" "main_$(basename "$1")"
  programs+=("$1|$last_object")
}
program "$out/assay-engine" engine/src/main.cpp
if [ ${#tests[@]} -gt 0 ]; then
  headers="$headers $(hash_headers engine/test)"
  for source in "${tests[@]}"; do program "$out/$(basename "${source%.cpp}")" "$source"; done
fi

if [ $((${#pending[@]} + ${#pending_alone[@]})) -gt 0 ]; then
  echo "engine/build.sh: compiling $((${#pending[@]} + ${#pending_alone[@]})) files for $platform ($variant)" >&2
  shared=
  if [ ${#pending[@]} -ge 6 ]; then
    find engine/src engine/test \( -name '*.cpp' -o -name '*.hpp' \) -exec grep -hoE '^#include <[a-z_]+>' {} + \
      | grep -v '<iostream>' | LC_ALL=C sort -u > "$precompiled"
    printf -v command '%q ' "$cxx" "${flags[@]}" -x c++-header "$precompiled" -o "$precompiled.gch"
    pending_alone=("$command" "${pending_alone[@]}")
    printf -v shared '%q ' -include "$precompiled" # where the compiler cannot use it, it reads the text
  fi
  [ ${#pending_alone[@]} = 0 ] || printf '%s\0' "${pending_alone[@]}" | xargs -0 -P "$jobs" -I{} bash -c '{}'
  for i in "${!pending[@]}"; do pending[i]="$cxx $shared${pending[$i]#"$cxx "}"; done
  [ ${#pending[@]} = 0 ] || printf '%s\0' "${pending[@]}" | xargs -0 -P "$jobs" -I{} bash -c '{}'
  rm -f "$precompiled" "$precompiled.gch" # big, and a stale one would be trusted
fi
for entry in "${programs[@]}"; do
  program=${entry%%|*} object=${entry##*|}
  want=$(echo "${library[*]} $object ${link[*]}" | hash_of)
  [ -f "$program" ] && [ "$(cat "$out/obj/$(basename "$program").hash" 2> /dev/null)" = "$want" ] && continue
  "$cxx" "$object" "${library[@]}" "${link[@]}" -o "$program.new"
  [ "$variant" != plain ] || "$strip" "$program.new"
  mv "$program.new" "$program"
  echo "$want" > "$out/obj/$(basename "$program").hash"
done
