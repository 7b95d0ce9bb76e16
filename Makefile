# A thin front over CMake: everything here can be done by hand with the presets of CMakePresets.json.
BUILD := build
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=  # for the first configuration, e.g. -DHONE_UNITY=20

.DEFAULT_GOAL := build
.PHONY: build all test test-cuda wheel test-wheel demo demo-train install format check clean help dependencies

build: configure  ## install what is missing and build the program: build/hone
	@cmake --build $(BUILD) -j $(JOBS) --target hone

all: configure  ## build everything, tests and benchmarks included
	@cmake --build $(BUILD) -j $(JOBS)

test: all  ## build and run every test
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

wheel: build  ## build the Python package: build/wheel/hone-….whl (PYTHON: the Python that it is for)
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) tools/build-wheel

test-wheel: wheel  ## build the Python package and test it in an environment of its own
	@tools/test-wheel

demo:  ## build, make a U-Net, run the whole loop on it, and name the report to open
	@tools/demo

demo-train:  ## build, train a small U-Net on synthetic microscopy, and make its step faster
	@tools/demo-train

PREFIX ?= /usr/local
install: build  ## install program, manual page and completions under PREFIX (/usr/local)
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:  ## lay out every source with clang-format
	@tools/check-format --fix

test-cuda: all  ## run the tests that need a GPU and keep their result (bench/results/cuda-tests.json)
	@tools/test-cuda

check:  ## format, layering, names, file sizes, no stale result of a GPU
	@tools/check-format
	@python3 tools/check-layering
	@python3 tools/check-names
	@python3 tools/check-size
	@python3 tools/test-cuda --check

clean:  ## remove the build folders and out/
	@rm -rf $(BUILD) build-debug build-asan build-tsan build-fuzz out

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: configure
configure: dependencies
	@[ -f $(BUILD)/build.ninja ] || cmake --preset release --log-level=WARNING $(CMAKE_FLAGS)

dependencies:
	@tools/install-dependencies
