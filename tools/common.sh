# Sourced by the tools: where the repository is, how to speak, and which Python and build folder a torch version has.
# shellcheck shell=bash
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly root
readonly standard_torch=2.11.0

say() { printf '%s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Seconds since $1 (a value of SECONDS), as "1 m 05 s" or "5 s".
since() {
  local seconds=$((SECONDS - $1))
  if ((seconds >= 60)); then printf '%d m %02d s' $((seconds / 60)) $((seconds % 60)); else printf '%d s' "$seconds"; fi
}

# choose_folders WHAT TORCH: sets venv and build. WHAT is "host" (no torch) or "all".
choose_folders() {
  if [[ $1 == host ]]; then
    venv=$root/.venv-host build=$root/build-host
  elif [[ $2 == "$standard_torch" ]]; then
    venv=$root/.venv build=$root/build
  else
    venv=$root/.venv-$2 build=$root/build-$2
  fi
}

# A plan that one run keeps would make the next one begin with it.
export STOWAGE_PLAN_CACHE=off

has_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; }
