# mipsrec: `make` lists the targets. Every target makes and uses its own Python environment in .venv.

PYTHON ?= python3
# For two cores: tests wait for processes, and keep the cores busy from six on.
JOBS ?= 6
PY := .venv/bin/python
# Otherwise every process of the tests, of which there are thousands, compiles the modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help venv demo test quick check check-python check-plans check-c conformance firmware fuzz fuzz-flow fuzz-looks fuzz-selfmod fuzz-csmith fuzz-input fuzz-host fuzz-demo samples
.PHONY: same-ir pass-worth stencils docs clean

help:
	@echo 'make demo         recompile the samples and run them'
	@echo 'make test         run the tests (ARGS=tests/elf/test_load_elf.py for some of them, JOBS=8 for more processes)'
	@echo 'make quick        make check, and the tests that need no host, in minutes: before each commit'
	@echo 'make check        ruff, mypy, the contracts of plans, and the C compilers'"'"' warnings'
	@echo 'make conformance  gcc'"'"'s own tests, and programs beside other executors (ARGS=--help)'
	@echo 'make firmware     firmwares of each kind of code, built and run after chroot (ARGS=--help)'
	@echo 'make fuzz         random instructions in every executor and two outside judges (SECONDS=600 ARGS=--help)'
	@echo 'make fuzz-flow    random functions, loops and calls in every executor (COUNT=100 programs from SEED=1 on)'
	@echo 'make fuzz-looks   registers that handlers, signals and a debugger see in random programs (LOOKS=100000 ARGS=--help)'
	@echo 'make fuzz-selfmod random programs that change their own code in every tier (COUNT=100 programs from SEED=1 on)'
	@echo 'make fuzz-csmith  compare random C programs of csmith everywhere (COUNT=50 programs from SEED=1 on)'
	@echo 'make fuzz-input   run the commands on broken programs (COUNT=20000)'
	@echo 'make fuzz-host    loader, interpreter and debug information under libFuzzer (SECONDS=600 for each)'
	@echo 'make fuzz-demo    find ten faults of small programs with mipsrec fuzz (SECONDS=600 for each, ARGS=--help)'
	@echo 'make same-ir      compare the IR text of this checkout with that of a commit (BASE=main ARGS=--help)'
	@echo 'make pass-worth   what each optimisation gains in time, size and translation (ARGS=--help)'
	@echo 'make samples      check the committed sample programs against their sources'
	@echo 'make stencils     make the stencils anew, for a package to carry'
	@echo 'make docs         the documents and the modules'"'"' docstrings as a site, in build/docs'
	@echo 'make clean        remove .venv and everything that was built'

# The environment is made again when this folder or pyproject.toml is another one than last time, when it does not work,
# and when PYTHON names another Python than it was made with. Another python3 that stands first in PATH is no reason.
MADE_WITH = $(PYTHON) -c 'import sys; print(sys.executable, sys.version.replace("\n", " "))'
NAMED_PYTHON = $(if $(filter file,$(origin PYTHON)),,1)

venv:
	@if [ -f .venv/identity ] && { read -r folder; read -r made_with; needs=$$(cat); } < .venv/identity \
	    && [ "$$folder" = '$(CURDIR)' ] && [ "$$needs" = "$$(cat pyproject.toml)" ] \
	    && $(PY) -c 'import llvmlite' 2> /dev/null \
	    && { [ -z '$(NAMED_PYTHON)' ] || [ "$$made_with" = "$$($(MADE_WITH))" ]; }; \
	then :; else $(MAKE) --no-print-directory .venv; fi

.PHONY: .venv
.venv:
	@$(PYTHON) -c '' || \
	    { echo 'make: no $(PYTHON): install Python 3.10 or newer (Debian: apt-get install python3)' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo 'make: $(PYTHON) is older than 3.10; name a newer one: make PYTHON=python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || \
	    { echo 'make: $(PYTHON) cannot make environments (Debian: apt-get install python3-venv)' >&2; exit 1; }
	@echo 'make: making the Python environment .venv (once, in about a minute)' >&2
	$(PYTHON) -m venv --clear .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@{ echo '$(CURDIR)' && $(MADE_WITH) && cat pyproject.toml; } > .venv/identity.new && mv .venv/identity.new .venv/identity

demo: venv
	$(PY) -m mipsrec.demo $(ARGS)

test: venv
	$(PY) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# What needs neither the host nor a recompiled program.
QUICK := isa elf analysis lift \
    $(addprefix repository/test_,commits.py import_circles.py layers.py processor_names.py sizes.py tests.py) \
    cli/test_guest_words.py cli/test_old_names.py

quick: check
	$(PY) -m pytest -q -n $(JOBS) $(addprefix tests/,$(QUICK)) $(ARGS)

check: check-python check-plans check-c

check-python: venv
	$(PY) -m ruff check .
	$(PY) -m mypy mipsrec

check-plans: venv
	$(PY) -m tests.lift.checked_plans

# -D_GNU_SOURCE= as in every build of the host. A missing compiler is an error in CI. Of the objects that gcc makes the
# symbols are looked at.
check-c: venv
	@mkdir -p build/check
	@$(PY) -c 'from mipsrec.host_build import write_generated_headers; write_generated_headers("build/check")'
	@failed=0; for compiler in gcc clang; do \
	    if ! command -v $$compiler > /dev/null; then \
	        echo "make: NOT CHECKED with $$compiler: it is missing (Debian: apt-get install $$compiler)" >&2; \
	        if [ -n "$$CI" ]; then failed=1; fi; continue; \
	    fi; \
	    echo "$$compiler -c runtime/**.c"; \
	    rm -rf build/check/$$compiler; \
	    for source in $$(find runtime -path runtime/host -prune -o -name '*.c' -print | sort) \
	        $$(find runtime/host/$$(uname -m) -name '*.c'); do \
	        object=build/check/$$compiler/$${source#runtime/}; \
	        mkdir -p "$${object%/*}"; \
	        $$compiler -std=c11 -D_GNU_SOURCE= -Wall -Wextra -Werror -O0 -fno-pie -Ibuild/check -Iruntime \
	            -c $$source -o "$${object%.c}.o" || failed=1; \
	    done; \
	done; exit $$failed
	@if [ -d build/check/gcc ]; then MIPSREC_C_OBJECTS=build/check/gcc $(PY) -m pytest -q tests/runtime/test_c_layers.py; fi

same-ir: venv
	$(PY) tests/lift/same_ir.py $(or $(BASE),HEAD) $(ARGS)

pass-worth: venv
	$(PY) tests/lift/pass_worth.py $(ARGS)

conformance: venv
	$(PY) -m tests.conformance $(ARGS)

firmware: venv
	$(PY) -m tests.conformance firmware $(ARGS)

fuzz: venv
	$(PY) -m tests.fuzz.instructions --seconds $(or $(SECONDS),60) $(ARGS)

fuzz-flow: venv
	$(PY) -m tests.fuzz.flow --seed $(or $(SEED),1) --count $(or $(COUNT),100) $(ARGS)

fuzz-looks: venv
	$(PY) -m tests.fuzz.looks --looks $(or $(LOOKS),100000) $(ARGS)

fuzz-selfmod: venv
	$(PY) -m tests.fuzz.selfmod --seed $(or $(SEED),1) --count $(or $(COUNT),100) $(ARGS)

fuzz-csmith: venv
	$(PY) -m tests.fuzz.csmith --seed $(or $(SEED),1) --count $(or $(COUNT),50) --jobs $(JOBS) $(ARGS)

fuzz-input: venv
	$(PY) -m tests.fuzz.input --count $(or $(COUNT),2000) $(ARGS)

fuzz-host: venv
	$(PY) -m tests.fuzz.host --seconds $(or $(SECONDS),60) $(ARGS)

fuzz-demo: venv
	$(PY) -m tests.fuzz.seeded --seconds $(or $(SECONDS),600) $(ARGS)

samples: venv
	$(PY) samples/build.py --check $(ARGS)

stencils: venv
	$(PY) -m mipsrec.stencils

# Warnings are errors: a link that leads nowhere is one.
docs: venv
	@$(PY) -c 'import furo, myst_parser, sphinx' 2> /dev/null || \
	    $(PY) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	rm -rf build/docs build/docs-source
	@mkdir -p build
	cp -r docs build/docs-source
	$(PY) -m sphinx.ext.apidoc -q --separate --module-first --no-toc -o build/docs-source/api mipsrec
	$(PY) -m sphinx -W --keep-going -q build/docs-source build/docs
	@echo 'the site: build/docs/index.html'

clean:
	rm -rf .venv build dist samples/build mipsrec/_shipped *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
