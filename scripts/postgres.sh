#!/bin/sh
# Makes sure that the PostgreSQL server programs are installed. They run privately,
# from a directory of their own: no service of the system is needed or used.
set -eu

found() {
	command -v pg_ctl >/dev/null 2>&1 && return 0
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin \
		/opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin; do
		[ -x "$dir/pg_ctl" ] && return 0
	done
	return 1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

found && exit 0
echo "PostgreSQL is not installed; installing it from the system's packages." >&2
if command -v apt-get >/dev/null 2>&1; then
	as_root apt-get update -q
	install="as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends"
	# Told so first, the packages do not create and start a cluster of the system.
	$install postgresql-common
	as_root sed -i 's/^#* *create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
	$install postgresql
elif command -v dnf >/dev/null 2>&1; then
	as_root dnf install -y postgresql-server
elif command -v apk >/dev/null 2>&1; then
	as_root apk add postgresql
elif command -v pacman >/dev/null 2>&1; then
	as_root pacman -S --noconfirm postgresql
elif command -v brew >/dev/null 2>&1; then
	brew install postgresql@17
fi
found || {
	echo "No PostgreSQL server programs (pg_ctl, initdb, postgres) were found, and none could be installed." >&2
	echo "Install PostgreSQL 14 or newer and put its bin directory on PATH." >&2
	exit 1
}
