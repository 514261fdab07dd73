#!/bin/sh
# Check that all sites are connected and that names, columns and policies fit the study, before anything is trained.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
exec "$here/run.sh" check
