#!/bin/sh
# Installs the browser and the Redis server of the tests by apt, when run as root. Everybody
# else gets them from packages that need no root (scripts/test_services.py).
set -u

# Debian package names, separated by spaces: the browser of the tests at the page,
# and the broker that carries hints between machines.
packages="chromium redis-server"

missing=""
for package in $packages; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0
echo "Installing system packages:$missing"
export DEBIAN_FRONTEND=noninteractive
# A new machine may never have asked what packages there are. The list is split on purpose.
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null ||
    echo "apt could not install$missing; the check looks for them elsewhere."
