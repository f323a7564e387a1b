#!/bin/sh
# Installs what the tests need from the system: when root, by apt; otherwise it names in
# one sentence what root must install, and everything else goes on.
set -u

# Debian package names, separated by spaces: the browser of the tests at the page,
# and the broker that carries hints between machines.
packages="chromium redis-server"

missing=""
for package in $packages; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "Some tests need system packages; ask root to run: apt-get install$missing"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Some tests need system packages that only apt can install here:$missing"
    exit 0
fi
echo "Installing system packages:$missing"
export DEBIAN_FRONTEND=noninteractive
# A new machine may never have asked what packages there are. The list is split on purpose.
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null ||
    echo "apt could not install$missing; the tests that need them will say so."
