# SPDX-License-Identifier: MIT
# A short front for people who type "make". The build itself is in CMakeLists.txt.
PRESET ?= dev
PREFIX ?= /usr/local
DESTDIR ?=
# More options of bench/run, such as BENCH="--rows list2 --peers none".
BENCH ?=

.PHONY: all test lint check bench fuzz soak programs install clean

all:
	@cmake --preset $(PRESET) --log-level=WARNING >/dev/null
	@cmake --build --preset $(PRESET)

test: all
	@ctest --preset dev

lint: all
	@ctest --preset dev --label-regex lint

check:
	@./check

bench: release
	@test -x bench/run || { echo "bench/run is not there" >&2; exit 1; }
	@bench/run build-release --markdown bench/RESULTS.md $(BENCH)

# MINUTES for each reader; see tests/fuzz/run.
MINUTES ?= 10
fuzz: all
	@build=build; . ./.ci/packages.sh; need_packages $$fuzz_packages
	@tests/fuzz/run $(MINUTES)

soak: all
	@test -x tests/soak/run || { echo "tests/soak/run is not there" >&2; exit 1; }
	@tests/soak/run build

programs: all
	@/usr/bin/python3 tests/soak/programs.py build

.PHONY: release
release:
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release

install:
	@cmake --preset release --log-level=WARNING -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release
	@DESTDIR=$(DESTDIR) cmake --install build-release

clean:
	@rm -rf build build-release build-asan build-tsan
