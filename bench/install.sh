#!/bin/sh
# Installs peers, each into its own folder: `bench/install.sh pi ai`, or all of them without a name.
# Under Node 24: an older npm silently picks older majors.
set -eu
cd "$(dirname "$0")/peers"
for peer in "${@:-}"; do
  for folder in ${peer:-$(ls -d */)}; do
    if [ -f "$folder/package.json" ]; then
      (cd "$folder" && npm install --no-audit --no-fund --ignore-scripts --no-package-lock)
    fi
  done
done
