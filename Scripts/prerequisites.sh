# What Hornbeam needs before it can be built: a Swift toolchain and the headers of liblz4.
# Sourced by the other scripts; defines functions, does nothing by itself.

say() { printf '%s\n' "== $*"; }

fail() {
  printf '%s\n' "error: $*" >&2
  exit 1
}

# Runs a command as root: directly when we are root, through sudo otherwise.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    fail "installing packages needs root and there is no sudo here; as root, run: $*"
  fi
}

need_swift() {
  command -v swift >/dev/null 2>&1 ||
    fail "no Swift toolchain on the PATH; install Swift 6.2 or later from https://www.swift.org/install and run this again."
  local version
  version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
  case "$version" in
    '') fail "'swift --version' names no version; the Swift toolchain on the PATH seems broken." ;;
    [0-5].* | 6.0 | 6.1) fail "Hornbeam needs Swift 6.2 or later and found $version; install a newer toolchain from https://www.swift.org/install." ;;
  esac
}

# True when a C header can be found the way the build will look for it.
has_header() {
  local compiler
  for compiler in clang cc gcc; do
    if command -v "$compiler" >/dev/null 2>&1; then
      printf '#include <%s>\n' "$1" | "$compiler" ${2:-} -E -x c - >/dev/null 2>&1
      return
    fi
  done
  [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]
}

# install_with_apt PACKAGE...: fetches the package lists first, for a fresh machine has none.
install_with_apt() {
  say "installing $* with apt"
  as_root apt-get update -qq ||
    fail "'apt-get update' failed, so $* cannot be installed; see apt's message above (is the network reachable?)."
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
    fail "'apt-get install $*' failed; see apt's message above."
}

# need_library HEADER APT_PACKAGE: installs the library when its header is not there.
need_library() {
  local header=$1 apt_package=$2
  has_header "$header" && return
  if command -v apt-get >/dev/null 2>&1; then
    install_with_apt "$apt_package"
    has_header "$header" || fail "$apt_package is installed and <$header> is still not found; check the C compiler's include path."
  else
    fail "<$header> is missing and there is no apt here; install the development files of ${apt_package%-dev} and run this again."
  fi
}

need_lz4() { need_library lz4frame.h liblz4-dev; }
need_tmux() { command -v tmux >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1 || install_with_apt tmux; }
need_jq() { command -v jq >/dev/null 2>&1 || install_with_apt jq; }

# The folder of the newest installed PostgreSQL's server programs; Debian keeps them out of the PATH.
postgres_programs() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

need_postgres() {
  need_library postgresql/libpq-fe.h libpq-dev
  [ -n "$(postgres_programs)" ] || install_with_apt postgresql
  # Certificates of the private server.
  command -v openssl >/dev/null 2>&1 || install_with_apt openssl
}
