#!/bin/sh
# Programs that some tests drive, from the system's package manager where it may be used: sh tools/system_tools.sh chromium java shells
# It never fails a run: tests whose program is missing are skipped, and the run says how many.
cd "$(dirname "$0")/.." || exit 0

packages() {
    case "$1" in
        chromium) echo "chromium chromium-driver" ;;
        java) echo "openjdk-17-jre-headless" ;;
        shells) echo "zsh fish man-db" ;;
    esac
}

is_there() {
    case "$1" in
        chromium) command -v chromium >/dev/null && command -v chromedriver >/dev/null ;;
        java) command -v java >/dev/null ;;
        shells) command -v zsh >/dev/null && command -v fish >/dev/null && command -v man >/dev/null ;;
    esac
}

install() {
    command -v apt-get >/dev/null || return 1
    root=""
    [ "$(id -u)" = 0 ] || { sudo -n true 2>/dev/null || return 1; root="sudo -n"; }
    $root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $(packages "$1")
}

for tool in "$@"; do
    if ! is_there "$tool"; then
        echo "installing $(packages "$tool") for the tests"
        install "$tool" >/dev/null 2>&1 || echo "$(packages "$tool") cannot be installed here: tests that need them are skipped"
    fi
    # Rules of accessibility, for tests alone; MPL-2.0.
    if [ "$tool" = chromium ] && [ ! -f .browser/node_modules/axe-core/axe.min.js ]; then
        if command -v npm >/dev/null; then
            npm install --silent --no-audit --no-fund --prefix .browser axe-core >/dev/null 2>&1 \
                || echo "axe-core cannot be installed here: tests of accessibility are skipped"
        fi
    fi
done
exit 0
