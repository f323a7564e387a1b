# Read by ./start and ./check: makes the Python environment and names it in $venv.
# Expects $root (the checkout) and a mode: "run" for the product, "dev" for the tests too.

fail() {
    echo "$1" >&2
    exit 1
}

# A folder of ours that nobody else can have prepared.
own_folder() {
    mkdir -p -m 700 "$1" 2>/dev/null && [ -O "$1" ] && [ -w "$1" ]
}

# Where the environment may live: in the checkout, else in a cache folder of this user.
find_place() {
    if [ -w "$root" ]; then
        place=$root
        return
    fi
    name=$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)
    for base in "${XDG_CACHE_HOME:-}" "${HOME:-/nonexistent}/.cache" "${TMPDIR:-/tmp}"; do
        [ -n "$base" ] || continue
        place=$base/mainspring-$(id -u)-$name
        if own_folder "$place"; then
            # Tools that keep a cache beside the sources get a folder they may write.
            export RUFF_CACHE_DIR="$place/ruff" MYPY_CACHE_DIR="$place/mypy"
            export HYPOTHESIS_STORAGE_DIRECTORY="$place/hypothesis"
            export PYTHONPYCACHEPREFIX="$place/bytecode"
            return
        fi
    done
    fail "Neither the checkout nor a cache folder can be written: set XDG_CACHE_HOME to a folder that can."
}

# A home that can be written, for pip's cache and for the data folder's default.
find_home() {
    [ -n "${HOME:-}" ] && [ -d "$HOME" ] && [ -w "$HOME" ] && return
    own_folder "$place/.home" || fail "The folder $place cannot be written."
    export HOME="$place/.home"
}

# The first Python that is new enough and can make environments.
find_python() {
    without_venv=""
    for python in python3.13 python3.12 python3.11 python3 python; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        "$python" -c 'import ensurepip, venv' 2>/dev/null && return
        without_venv=$python
    done
    [ -z "$without_venv" ] ||
        fail "$without_venv has no venv module: ask root to install it (on Debian: apt-get install python3-venv)."
    fail "Mainspring needs Python 3.11 or newer, and none was found on the PATH."
}

# What the environment was made from; another answer means it is stale.
fingerprint() {
    { printf '%s\n' "$root" && cat "$root/pyproject.toml" "$root/constraints.txt"; } | cksum
}

is_fresh() {
    [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' 2>/dev/null || return 1
    [ "$(cat "$venv/made-for-$1" 2>/dev/null)" = "$(fingerprint)" ]
}

make_venv() {
    # Scripts in an environment hold its absolute path, so a moved one is made anew.
    if [ "$(cat "$venv/made-in" 2>/dev/null)" = "$root" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    find_python
    "$python" -m venv --clear "$venv" >"$log" 2>&1 ||
        fail "$python could not make an environment in $venv (the reason is in $log)."
    printf '%s\n' "$root" >"$venv/made-in"
}

install() {
    if [ "$1" = dev ]; then target="$root[dev]"; else target="$root[docs]"; fi
    rm -f "$venv/made-for-run" "$venv/made-for-dev"
    # Not all of it is compiled: most of what is installed is never imported.
    # The page is built afterwards, with the deno that is installed here.
    show_progress 9>&- &
    progress=$!
    PIP_DISABLE_PIP_VERSION_CHECK=1 MAINSPRING_BUILD_PAGE=no "$venv/bin/python" -m pip install --no-input --no-compile \
        --progress-bar off -c "$root/constraints.txt" -e "$target" >"$log" 2>&1 || installed=no
    kill "$progress" 2>/dev/null || true
    [ "${installed:-yes}" = yes ] || explain_pip
    compile_model_libraries
    fingerprint >"$venv/made-for-run"
    [ "$1" = run ] || fingerprint >"$venv/made-for-dev"
}

# Every few seconds: how long pip has been at work, and on what. Ends with this script.
show_progress() {
    interval=${1:-10}
    elapsed=0
    while sleep "$interval" >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        elapsed=$((elapsed + interval))
        current=$(grep -E '^ *(Collecting|Downloading|Building|Installing)' "$log" 2>/dev/null | tail -n 1 | cut -c 1-70)
        printf '  %s s: %s\n' "$elapsed" "${current:-asking the package index}"
    done
}

# Everything else is compiled by the first start. These libraries are imported by the first run that
# asks a model, which would then wait for the compiler; so they are compiled now, in the background.
compile_model_libraries() {
    (PYTHONDONTWRITEBYTECODE='' "$venv/bin/python" -c 'import mainspring.outbound.models.sdk' \
        >/dev/null 2>&1 9>&- &)
}

explain_pip() {
    grep 'ERROR: ' "$log" | sort -u | head -n 3 >&2
    if grep -qiE 'connection|resolution|unreachable|timed out|could not find a version' "$log"; then
        fail "pip could not reach its package index: check the network, then run this command again (all that pip said is in $log)."
    fi
    fail "pip could not install what Mainspring needs (all that pip said is in $log)."
}

# The web page, built anew when its sources have changed. Without it everything but the page works.
prepare_page() {
    if [ "$place" = "$root" ]; then
        set -- "$root/src/mainspring/surfaces/web/built"
    else
        set -- "$place/page"
        export MAINSPRING_PAGE="$1"
    fi
    "$venv/bin/python" "$root/scripts/build_page.py" --only page --into "$1" ||
        echo "Everything but the web page works. Run this command again to build the page." >&2
}

# The documentation that the server shows at /docs. Called with the command that runs next: its
# server answers meanwhile, and shows the documentation as soon as it is built.
prepare_docs() {
    if [ "$place" = "$root" ]; then
        docs=$root/src/mainspring/surfaces/web/built_docs
    else
        docs=$place/docs
        export MAINSPRING_DOCS="$docs"
    fi
    (nice -n 10 "$venv/bin/python" "$root/scripts/build_page.py" --only docs --docs-into "$docs" \
        >"$place/.docs.log" 2>&1 </dev/null &)
}

prepare_environment() {
    find_place
    find_home
    venv=$place/.venv
    log=$place/.venv.log
    if ! is_fresh "$1"; then prepare_packages "$1"; fi
    prepare_page
}

# prepare_packages MODE: the Python environment, made once.
prepare_packages() {
    # Two commands at once take turns, and the second finds the work done.
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$place/.venv.lock"
        flock -n 9 || {
            echo "Waiting for another command that prepares $venv (it locks $place/.venv.lock) ..."
            flock 9
        }
    fi
    if ! is_fresh "$1"; then
        echo "Preparing the Python environment in $venv (needed once, takes a few minutes) ..."
        make_venv
        install "$1"
        rm -f "$log"
    fi
    # Not handed on to what runs next, or the lock would last as long as that.
    exec 9>&-
}
