#!/usr/bin/env bash
# Makes a release: the binary without need of a Swift runtime as a Debian package and as an archive, each with the systemd
# unit, completions and documents; the software bill of materials (CycloneDX), and the SHA-256 sums of all. Made twice of the
# same sources they are the same bytes.
#
#   deploy/release.sh [--output DIRECTORY]      default: .build/release-files
#
# Environment: GATEHOUSE_BINARY   package this binary instead of building one
#              SOURCE_DATE_EPOCH  the time in all files; default: the last commit's
#              DEBFULLNAME, DEBEMAIL  who the Debian package names as its maintainer, as Debian's own tools have it;
#                                 default: nobody who could be written to
set -euo pipefail

# shellcheck source=deploy/requirements.sh
. "$(dirname "${BASH_SOURCE[0]}")/requirements.sh"

output=$repository/.build/release-files
while [ $# -gt 0 ]; do
    case $1 in
    --output) output=${2:?--output needs a directory}; shift 2 ;;
    *) fail "unknown option: $1 (there is --output)" ;;
    esac
done
absolute output GATEHOUSE_BINARY
cd "$repository"

need_packages binutils dpkg python3
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export LC_ALL=C TZ=UTC

if [ -n "${GATEHOUSE_BINARY:-}" ]; then
    binary=$GATEHOUSE_BINARY
else
    need_packages ca-certificates libcurl4-openssl-dev libnghttp2-dev libpq-dev libsqlite3-dev libssl-dev pkg-config zlib1g-dev
    need_swift
    swift package resolve
fi
# Package.swift does not say which versions its dependencies bring along: two releases of the same sources are to have the
# same ones.
python3 deploy/release/dependencies.py ||
    fail "these are not the packages of deploy/release/dependencies.txt; docs/running.md says what to do about it"
if [ -z "${GATEHOUSE_BINARY:-}" ]; then
    echo "building the release binary (the first time takes some minutes)"
    "$repository/deploy/build.sh"
    binary=$release_binary
fi
version=$("$binary" --version)
architecture=$(dpkg --print-architecture)
echo "gatehouse $version for $architecture"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$output"

# Code that can end the process on another thread than it began on is not released (it says where).
python3 deploy/release/thread_addresses.py "$binary"

# ---- The binary, and what it says of itself

strip --strip-unneeded -o "$work/gatehouse" "$binary"
chmod 755 "$work/gatehouse"
"$binary" schema >"$work/gatehouse.schema.json"
"$binary" --experimental-dump-help | python3 deploy/release/manual.py "$version" >"$work/gatehouse.1"
# Completions are read by a shell, not started.
for shell in bash zsh fish; do "$binary" --generate-completion-script "$shell" | sed '1{/^#!/d}' >"$work/completion.$shell"; done

# ---- What it links: the Debian packages that hold each library

# The library's package by dpkg's own list, which may have its path without the /usr of today; empty for a library of no
# package, such as a Swift toolchain's.
package_of() {
    local path
    path=$(realpath "$1")
    { dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}" 2>/dev/null || true; } | head -1 | cut -d: -f1
}

linked=()
direct=$(objdump -p "$binary" | sed -n 's/^ *NEEDED *//p')
while read -r name _ path _; do
    [ -e "${path:-}" ] || continue
    package=$(package_of "$path")
    if [ -z "$package" ]; then
        [ -n "${GATEHOUSE_BINARY:-}" ] || fail "the binary needs $name, which no Debian package has"
        echo "warning: $name is of no Debian package: this binary runs only where it was built" >&2
    elif grep -qxF "$name" <<<"$direct"; then
        linked+=("$package")
    fi
done < <(ldd "$binary")
mapfile -t linked < <(printf '%s\n' "${linked[@]}" | sort -u)
glibc=$(objdump -T "$binary" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -1)
depends="ca-certificates, passwd"
for package in "${linked[@]}"; do
    case $package in
    libc6) depends+=", libc6 (>= $glibc)" ;;
    *) depends+=", $package" ;;
    esac
done

# ---- The Debian package

root=$work/package
install -D -m 755 "$work/gatehouse" "$root/usr/bin/gatehouse"
install -D -m 644 deploy/systemd/gatehouse.service "$root/lib/systemd/system/gatehouse.service"
install -D -m 644 deploy/debian/gatehouse.yaml "$root/etc/gatehouse/gatehouse.yaml"
install -D -m 644 deploy/debian/gatehouse.logrotate "$root/etc/logrotate.d/gatehouse"
install -D -m 644 "$work/gatehouse.schema.json" "$root/usr/share/gatehouse/gatehouse.schema.json"
install -D -m 644 "$work/completion.bash" "$root/usr/share/bash-completion/completions/gatehouse"
install -D -m 644 "$work/completion.zsh" "$root/usr/share/zsh/vendor-completions/_gatehouse"
install -D -m 644 "$work/completion.fish" "$root/usr/share/fish/vendor_completions.d/gatehouse.fish"
documents=$root/usr/share/doc/gatehouse
install -d -m 755 "$documents"
python3 deploy/release/documents.py "$documents"
python3 deploy/release/copyright.py --version "$version" --resolved Package.resolved --checkouts .build/checkouts \
    >"$work/copyright"
install -m 644 "$work/copyright" "$documents/copyright"
maintainer="${DEBFULLNAME:-Gatehouse} <${DEBEMAIL:-gatehouse@gatehouse.invalid}>"
gzip -9n >"$documents/changelog.gz" <<CHANGELOG
gatehouse ($version) unstable; urgency=medium

  * Version $version.

 -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
chmod 644 "$documents/changelog.gz"
install -D -m 644 deploy/debian/gatehouse.lintian-overrides "$root/usr/share/lintian/overrides/gatehouse"
gzip -9n <"$work/gatehouse.1" >"$work/gatehouse.1.gz"
install -D -m 644 "$work/gatehouse.1.gz" "$root/usr/share/man/man1/gatehouse.1.gz"

bill=$output/gatehouse-$version.cdx.json
python3 deploy/release/bill_of_materials.py --version "$version" --binary "$work/gatehouse" --symbols "$binary" \
    --resolved Package.resolved --checkouts .build/checkouts --debian "${linked[@]}" >"$bill"
install -D -m 644 "$bill" "$documents/gatehouse.cdx.json"

install -d "$root/DEBIAN"
install -m 755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN/"
printf '%s\n' /etc/gatehouse/gatehouse.yaml /etc/logrotate.d/gatehouse >"$root/DEBIAN/conffiles"
(cd "$root" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
cat >"$root/DEBIAN/control" <<CONTROL
Package: gatehouse
Version: $version
Architecture: $architecture
Section: net
Priority: optional
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size "$root" --exclude DEBIAN | cut -f1)
Depends: $depends
Recommends: libpq5
Description: authenticating reverse proxy for mobile APIs
 Stands in front of an HTTP API, signs its users in (Amazon Cognito with a
 client secret), verifies every token, tells the backend who is calling in
 headers that no client can forge, and lets no request reach Cognito around it.
CONTROL
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
deb=$output/gatehouse_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz -z0 --build "$root" "$deb" >/dev/null

# ---- What there is for systems without dpkg, and the sums

tree=$work/tree
mkdir -p "$tree"
cp -R "$root/usr/bin" "$root/usr/share" "$tree/"
rm -r "$tree/share/lintian"
install -D -m 644 deploy/systemd/gatehouse.service "$tree/lib/systemd/system/gatehouse.service"
# An archive is unpacked to /usr: docs/running.md installs it from here.
install -D -m 644 deploy/debian/gatehouse.logrotate "$tree/share/doc/gatehouse/examples/gatehouse.logrotate"
install -D -m 644 deploy/debian/gatehouse.yaml "$tree/share/doc/gatehouse/examples/starter.yaml"
# Which Debian has in a place of its own.
install -m 644 /usr/share/common-licenses/Apache-2.0 "$tree/share/doc/gatehouse/Apache-2.0"
archive=$output/gatehouse-$version-linux-$architecture.tar.gz
tar --create --file - --directory "$tree" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" --transform "s,^,gatehouse-$version/," \
    bin lib share | gzip -6n >"$archive"
(cd "$output" && sha256sum "${deb##*/}" "${archive##*/}" "${bill##*/}" >SHA256SUMS)

echo "in $output:"
(cd "$output" && ls -l "${deb##*/}" "${archive##*/}" "${bill##*/}" SHA256SUMS)
