#!/bin/sh
# Builds the DocC documentation of the module `Waggle` into the folder $1. Warnings (a link to nothing, say) are errors.
# Needs a built package; $2 says where it was built (`.build` by default).
# Where Xcode is, `xcodebuild docbuild -scheme Waggle` does the same.
set -eu
out=$1
cd "$(dirname "$0")"
built=$(cd "${2:-.build}/debug" && pwd -P)
tools=$(dirname "$(readlink -f "$(command -v swift)")")
graph=$(mktemp -d)
trap 'rm -rf "$graph"' EXIT
triple=$("$tools/swift" -print-target-info | sed -n 's/.*"triple": "\([^"]*\)".*/\1/p' | head -n 1)
"$tools/swift-symbolgraph-extract" -module-name Waggle -target "$triple" -I "$built/Modules" -I Sources/WaggleFFI \
  -output-dir "$graph" -minimum-access-level public
"$tools/docc" convert Sources/Waggle/Waggle.docc --additional-symbol-graph-dir "$graph" --fallback-display-name Waggle \
  --fallback-bundle-identifier org.waggle.Waggle --warnings-as-errors --output-path "$out"
