#!/usr/bin/env bash
# Makes the archive for krew from the wheel in a folder, and the manifest with its digest: build.sh FOLDER
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
folder=$1
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../pyproject.toml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$here/kubectl-dynamo" "$here/../../LICENSE" "$here/../../requirements/package.txt" "$work/"
cp "$folder"/dynamo_hooks-"$version"-*.whl "$work/"
printf '%s\n' "$version" >"$work/VERSION"
archive="$folder/kubectl-dynamo-$version.tar.gz"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$work" --create . | gzip --no-name >"$archive"
digest=$(sha256sum "$archive" | cut -d ' ' -f 1)
sed "s/0\{64\}/$digest/; s/OWNER/${GITHUB_REPOSITORY_OWNER:-OWNER}/" "$here/dynamo.yaml" >"$folder/dynamo.yaml"
