# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by ./try and ./check: which Debian packages each needs, and how to get the missing ones.
# Plain sh; $build is where logs go. What is there is not installed again.

# Without a PATH (env -i), or with one that lacks folders that apt-get needs, as after su.
for dir in /usr/local/bin /usr/bin /bin /usr/sbin /sbin; do
	case :${PATH-}: in
	*:"$dir":*) ;;
	*) PATH=${PATH:+$PATH:}$dir ;;
	esac
done
export PATH

# libdw-dev: <dwarf.h>, the numbers of DWARF, to build; it and libelf for a unit test.
build_packages="gcc g++ libc6-dev cmake ninja-build make systemtap-sdt-dev libdw-dev libiberty-dev
	libsqlite3-dev zlib1g-dev libzstd-dev liblzma-dev libncurses-dev libprotobuf-c-dev
	protobuf-c-compiler"
fast_packages="$build_packages binutils jq libelf-dev python3 libcmocka-dev python3-pytest"
# Programs that tests record, compilers whose output they read, and oracles that they compare with.
check_packages="$fast_packages bubblewrap cargo chromium clang clang-format cmark-gfm dwz file fish gdb git
	golang-go google-perftools heaptrack libclang-rt-14-dev libdebuginfod1 libgc-dev
	libgoogle-perftools-dev libheaptrack libjemalloc-dev libmimalloc-dev lld llvm-19 man-db mandoc
	patchelf perl pkg-config procps rustc sqlite3 strace tmux valgrind xz-utils zsh zstd"
# The page's tests: any node from 18 on will do, and beside one that is not Debian's its npm is refused.
command -v npm >/dev/null 2>&1 || check_packages="$check_packages nodejs npm"
# What bench/page measures with; its peers come from npm.
page_packages="$build_packages chromium clang python3"
command -v npm >/dev/null 2>&1 || page_packages="$page_packages nodejs npm"
# What `make deb` needs; tests/soak/package tries the packages in a system that debootstrap makes.
deb_packages="$build_packages build-essential debhelper dpkg-dev git lintian"
# What `make bench` measures with, and beside.
bench_packages="$build_packages gawk git heaptrack libgoogle-perftools-dev libjemalloc2 liblsan0
	llvm-19 perl python3 redis-server redis-tools valgrind"
# What tests/fuzz/run needs: libFuzzer, and clang's own tools for coverage.
fuzz_packages="$build_packages binutils clang golang-go heaptrack libclang-rt-14-dev libgoogle-perftools4
	libjemalloc2 llvm-14 python3 rustc xz-utils zstd"
# What tests/soak/run needs: all of these, programs with windows, Rust, Python's own tests, and the big
# binaries of tests/soak/big_symbols.py.
soak_packages="$check_packages $fuzz_packages $deb_packages dbus-daemon debootstrap heaptrack-gui
	imagemagick kcachegrind libboost-dev libc6-dbg libpython3.11-testsuite librust-aho-corasick-dev
	librust-memchr-dev librust-regex-dev librust-serde-json-dev librust-syn-dev mold python3.11-dbg
	tesseract-ocr xvfb"

is_installed() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need_packages NAME...: install those that are missing, as root or with sudo.
need_packages() {
	if ! command -v dpkg-query >/dev/null 2>&1; then
		echo "This is not a Debian system; what is needed here is called, on Debian 12:" >&2
		echo "  $*" | tr '\n\t' '  ' >&2
		echo >&2
		return 0
	fi
	missing=
	for package in "$@"; do
		is_installed "$package" || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -eq 0 ]; then
		as_root=
	elif command -v sudo >/dev/null 2>&1; then
		as_root=sudo
	else
		echo "These packages are missing, and there is neither root nor sudo to install them:" >&2
		echo "  $missing" >&2
		echo "Ask somebody who may:  apt-get install$missing" >&2
		return 1
	fi
	echo "installing:$missing" >&2
	mkdir -p "$build"
	# A failing update is no reason to stop: the lists that are there may do.
	$as_root apt-get -qq update >"$build/apt-update.log" 2>&1 </dev/null || true
	# shellcheck disable=SC2086 # a list of names, meant to be split
	quietly "$build/apt-install.log" $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o Dpkg::Use-Pty=0 install --no-install-recommends $missing
}

# quietly LOG COMMAND...: run it with its output in LOG; show the end of LOG when it fails.
quietly() {
	log=$1
	shift
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -n 40 "$log" >&2
		echo "failed: $* (all of it is in $log)" >&2
		return 1
	fi
}
