# Shared by ./run and ./test: building a preset, making models. Sourced from the repository's root.

export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # another clone of this repository finds the same objects
JOBS=${JOBS:-$(nproc)}

# build PRESET [TARGET ...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" -Wno-dev >/dev/null && ninja -j"$JOBS" -C "build/$preset" --quiet "$@"
}

# models NAME ...: makes those of models/ that are missing
models() {
  local name missing=()
  for name in "$@"; do
    [[ -d models/$name ]] || missing+=("$name")
  done
  [[ ${#missing[@]} -eq 0 ]] || .venv/bin/python tools/models/make_models.py models "${missing[@]}"
}
