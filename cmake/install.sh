#!/bin/sh
# SPDX-License-Identifier: MIT
# cmake/install.sh install BUILD PREFIX [DESTDIR], or uninstall PREFIX [DESTDIR]: what "make install" does, and
# "make uninstall" undoes from any checkout: PREFIX/share/seep/installed lists the files, and the folders that
# were not there before.
set -eu
umask 022

newline='
'
fail() {
	echo "install: $*" >&2
	exit 1
}

remove() {
	while IFS= read -r file; do
		[ -z "$file" ] || rm -f -- "$dest$file"
	done
}

# From the innermost outwards; what has other files in it stays.
remove_folders() {
	LC_ALL=C sort -r | while IFS= read -r folder; do
		[ -z "$folder" ] || rmdir -- "$dest$folder" 2>/dev/null || true
	done
}

listed() {
	[ ! -f "$dest$record" ] || sed -n "s/^$1 //p" "$dest$record"
}

check_writable() {
	there=$dest$prefix
	while [ ! -e "$there" ] && [ -n "$there" ]; do
		there=${there%/*}
	done
	[ -w "${there:-/}" ] || fail "cannot write to ${there:-/}: try sudo, or another PREFIX"
}

do_install() {
	check_writable
	stage=$(mktemp -d)
	trap 'rm -rf "$stage"' EXIT
	DESTDIR=$stage/root cmake --install "$build" >"$stage/log" 2>&1 || {
		cat "$stage/log" >&2
		exit 1
	}
	(cd "$stage/root" && find . ! -type d) | sed 's/^\.//' >"$stage/files"
	echo "$record" >>"$stage/files"
	{
		listed folder
		(cd "$stage/root" && find . -type d) | sed 's/^\.//; s/^$/\//'
		echo "${record%/*}"
	} | LC_ALL=C sort -u >"$stage/folders"
	# What an earlier version had and this one has not.
	listed file | LC_ALL=C sort >"$stage/old"
	LC_ALL=C sort -o "$stage/files" "$stage/files"
	listed folder | LC_ALL=C sort >"$stage/old-folders"
	while IFS= read -r folder; do
		if [ ! -d "$dest$folder" ] || grep -qxF -e "$folder" "$stage/old-folders"; then
			echo "folder $folder"
		fi
	done <"$stage/folders" >"$stage/list"
	sed 's/^/file /' "$stage/files" >>"$stage/list"

	LC_ALL=C comm -23 "$stage/old" "$stage/files" | remove
	mkdir -p "$dest/"
	# A library that programs have loaded must not change under them: tar makes new files.
	mkdir -p "$stage/root${record%/*}"
	mv "$stage/list" "$stage/root$record"
	# No folders: those that are there may be somebody else's.
	(cd "$stage/root" && find . ! -type d -print0) | tar -C "$stage/root" --null --files-from=- -cf - |
		tar -C "$dest/" --no-same-owner --keep-directory-symlink --no-overwrite-dir -xf -
}

do_uninstall() {
	[ -f "$dest$record" ] || fail "seep was not installed in ${dest}$prefix by \"make install\""
	files=$(listed file)
	folders=$(listed folder)
	printf '%s\n' "$files" | remove
	printf '%s\n' "$folders" | remove_folders
}

action=${1-}
case $action in
install)
	build=$2
	shift
	;;
uninstall) ;;
*) fail "usage: install.sh install BUILD PREFIX [DESTDIR] | uninstall PREFIX [DESTDIR]" ;;
esac
prefix=$2
dest=${3-}
case $prefix$dest in
*"$newline"*) fail "a folder's name has a line break" ;;
esac
case $prefix in
/*) ;;
*) fail "PREFIX must begin with /: $prefix" ;;
esac
prefix=${prefix%/}
record=$prefix/share/seep/installed
"do_$action"
