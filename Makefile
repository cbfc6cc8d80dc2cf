# SPDX-License-Identifier: MIT
# A short front for people who type "make". The build itself is in CMakeLists.txt.
PRESET ?= dev
PREFIX ?= /usr/local
DESTDIR ?=
# More options of bench/run, such as BENCH="--rows list2 --peers none".
BENCH ?=

.PHONY: all help test lint check bench fuzz soak programs web install uninstall deb clean

#| make            build/seep and build/libseep.so
#| make lint       format, names, includes and the like: half a minute
#| make test       units, lints, end to end: up to 20 minutes on 2 cores
#| make check      ./check, the same: installs what is missing, ends with a line of counts
#| make programs   38 loads of real programs: 15 to 30 minutes
#| make fuzz       damaged files to the readers, MINUTES=10 for each of five: an hour
#| make bench      speed beside plain runs and other tools: an hour; BENCH=--quick: minutes
#| make web        assets/report.html from web/, by node and npm
#| make soak       what check leaves out, fuzz, and an hour of work: three hours
#| make install    a release, to PREFIX=/usr/local; DESTDIR= goes before it
#| make uninstall  of the same PREFIX and DESTDIR
#| make deb        Debian packages, in build-deb: a minute
#| make clean      remove the build folders
all:
	@cmake --preset $(PRESET) --log-level=WARNING >/dev/null
	@cmake --build --preset $(PRESET)

help:
	@sed -n 's/^#| //p' Makefile

test: all
	@ctest --preset dev

lint: all
	@ctest --preset dev --label-regex lint

check:
	@./check

bench: release
	@bench/run build-release --tiers --markdown bench/RESULTS.md $(BENCH)
	@bench/leaks build-release --markdown bench/RESULTS.md $(filter --quick,$(BENCH))
	@bench/viewer build-release --markdown bench/RESULTS.md $(filter --quick,$(BENCH))
	@bench/page build-release --markdown bench/RESULTS.md $(filter --quick,$(BENCH))

# MINUTES for each reader; see tests/fuzz/run.
MINUTES ?= 10
fuzz: all
	@build=build; . ./.ci/packages.sh; need_packages $$fuzz_packages
	@tests/fuzz/run $(MINUTES)

soak: all
	@tests/soak/run build

# The page of seep report --html. It is committed, so that building seep needs no node.
web:
	@cd web && npm ci --ignore-scripts --silent && node build.mjs

programs: all
	@/usr/bin/python3 tests/soak/programs.py build

.PHONY: release
release:
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release

install:
	@cmake --preset release --log-level=WARNING -DCMAKE_INSTALL_PREFIX="$(PREFIX)" >/dev/null
	@cmake --build --preset release
	@cmake/install.sh install build-release "$(PREFIX)" "$(DESTDIR)"

uninstall:
	@cmake/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"

deb:
	@.ci/deb

clean:
	@rm -rf build build-release build-asan build-tsan build-deb
