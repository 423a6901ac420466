#!/usr/bin/env bash
# Makes the package that runs without compilers and without a registry: build/release/assay-<version>.tgz.
#
#   scripts/release.sh [--engines FOLDER] [--out FOLDER]
#
#   --engines FOLDER  take FOLDER/<platform>/assay-engine as they are; otherwise both are brought up to date with engine/build.sh
#   --out FOLDER      where the package goes, and FOLDER/assay-package with what is in it (default build/release)
#
# In it: dist/ (the CLI with all that it depends on, for Node 20 and newer; up and validate for 22.12 and newer; dist/web, the dashboard), prebuilt/<platform>/assay-engine,
# bin/assay.mjs, README, docs, the sample evidence. Its manifest has no dependencies and no scripts; PostgreSQL's programs, 60 MB, and the
# embedded chain's EVM, 30 MB, are optional peers. The last line of output is the path.
# Not here: publishing, signing, tagging.
set -euo pipefail
from=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -x .toolchain/node_modules/.bin/node ] && export PATH="$PWD/.toolchain/node_modules/.bin:$PATH"

say() { printf 'release: %s\n' "$*" >&2; }
fail() { say "$2"; exit "$1"; }
usage() { sed -n '4,7s/^# \{0,1\}//p' scripts/release.sh >&2; exit 64; }
absolute() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s' "$from/$1" ;; esac }

engines="" out=$PWD/build/release
while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || usage
	case $1 in
	--engines) engines=$(absolute "$2") ;;
	--out) out=$(absolute "$2") ;;
	*) usage ;;
	esac
	shift 2
done
platforms=(linux-x64 linux-arm64)
stage=$out/assay-package
version=$(node -p 'require("./package.json").version')
rm -rf "$stage" "$out/assay-$version.tgz" # what lies there afterwards is of this run
mkdir -p "$stage/dist" "$stage/bin"

# ---- the engines: both, each for its own machine, and of one kind
wants_device_code=0
if [ -z "$engines" ]; then
	engines=$PWD/build/engine
	for platform in "${platforms[@]}"; do bash engine/build.sh --platform "$platform" >&2; done
	if [ -n "${NVCC:-}" ] || command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then wants_device_code=1; fi
fi
# A fat binary begins with the magic number 0xBA55ED50, compressed or not.
has_device_code() { LC_ALL=C grep -qaP '\x50\xED\x55\xBA\x01\x00' "$1"; }
with_device_code=()
for platform in "${platforms[@]}"; do
	engine=$engines/$platform/assay-engine
	[ -f "$engine" ] || fail 66 "there is no engine for $platform in $engines; bash engine/build.sh --platform $platform"
	# ELF, 64 bits, little-endian; e_machine at byte 18: 0x3e is x86-64, 0xb7 is AArch64.
	case $platform in linux-x64) machine="3e 00" ;; *) machine="b7 00" ;; esac
	header=$(od -An -v -tx1 -N20 -w20 "$engine")
	case $header in
	" 7f 45 4c 46 02 01 "*" $machine") ;;
	*) fail 65 "$engine is no program for $platform" ;;
	esac
	if has_device_code "$engine"; then with_device_code+=("$platform"); fi
	install -D -m 755 "$engine" "$stage/prebuilt/$platform/assay-engine"
done
case ${#with_device_code[@]} in
2) device_code="GPU code in both engines" ;;
0) device_code="NO GPU code: these engines know the CPU only" ;;
*) fail 65 "only the engine for ${with_device_code[*]} has GPU code; build both with nvcc or both without" ;;
esac
[ $wants_device_code = 0 ] || [ ${#with_device_code[@]} = 2 ] || fail 65 "nvcc is here, and yet there is no GPU code in the engines"

# ---- the CLI: its first part, and parts that are loaded when a command needs them
# Node 20 has all that we use but this one; a test runs the package under Node 20 where there is one. `require` is for packages that are CommonJS.
read -r -d '' banner <<'JS' || true
import { createRequire as createRequireHere } from "node:module";
const require = createRequireHere(import.meta.url);
if (!Promise.withResolvers)
	Object.defineProperty(Promise, "withResolvers", {
		configurable: true,
		writable: true,
		value() {
			let resolve, reject;
			const promise = new this((yes, no) => { resolve = yes; reject = no; });
			return { promise, resolve, reject };
		},
	});
JS
# Not minified: a stack trace in a report should be readable, and reading a part costs a few milliseconds at most. The verifier's thread is a program
# of its own, found by its name. pg-native is what pg uses when somebody has installed it; nobody has. The embedded chain's EVM, 30 MB, is installed
# beside the package by whoever wants it.
node_modules/.bin/esbuild assay=src/cli/main.ts verifier-thread=src/validator/probing/verifier-thread.ts --bundle --splitting --platform=node \
	--format=esm --target=node20 --legal-comments=eof --preserve-symlinks --log-level=warning --external:pg-native --external:@nomicfoundation/edr --banner:js="$banner" \
	--out-extension:.js=.mjs --chunk-names='part-[hash]' --metafile="$out/parts.json" --outdir="$stage/dist"
install -m 755 bin/assay.mjs "$stage/bin/assay.mjs"

# ---- the dashboard, as the validator serves it
node scripts/build-web.ts --out "$stage/dist/web"

# ---- what a reader needs
cp README.md "$stage/"
cp -R docs "$stage/docs"
if compgen -G 'vectors/*.assay' >/dev/null; then
	mkdir "$stage/vectors"
	cp vectors/*.assay "$stage/vectors/"
fi
# The packages that went into dist/ ask for their licence to go with every copy; what they are is what the bundler says that it read.
node -e '
	const { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } = require("node:fs");
	const [stage, parts] = process.argv.slice(1);
	const ours = JSON.parse(readFileSync("package.json", "utf8"));
	const keep = ["name", "version", "description", "license", "private", "type", "engines", "bin"];
	const manifest = Object.fromEntries(keep.filter((key) => key in ours).map((key) => [key, ours[key]]));
	const peers = ["embedded-postgres", "@nomicfoundation/edr"];
	manifest.peerDependencies = Object.fromEntries(peers.map((name) => [name, ours.dependencies[name]]));
	manifest.peerDependenciesMeta = Object.fromEntries(peers.map((name) => [name, { optional: true }]));
	writeFileSync(`${stage}/package.json`, `${JSON.stringify(manifest, null, "\t")}\n`);
	const folders = Object.keys(JSON.parse(readFileSync(parts, "utf8")).inputs).flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
	folders.push("node_modules/preact"); // in dist/web
	const notices = [...new Set(folders)].sort().map((folder) => {
		const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
		const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)/i.test(name));
		const text = file === undefined ? `${license}, as its manifest says; it brings no text of it.` : readFileSync(`${folder}/${file}`, "utf8").trim();
		return `dist/ contains ${name} ${version} (${license}):\n\n${text}\n`;
	});
	writeFileSync(`${stage}/THIRD-PARTY-LICENSES.txt`, notices.join("\n\n"));
	rmSync(parts);
' "$stage" "$out/parts.json"

# ---- the package
file=$(cd "$stage" && npm pack --silent --ignore-scripts --pack-destination "$out")
[ -s "$out/$file" ] || fail 70 "npm pack left no package"
say "$file, $(stat -c %s "$out/$file") bytes, $device_code"
say "sha256 $(sha256sum "$out/$file" | cut -c1-64)"
printf '%s\n' "$out/$file"
