#!/bin/sh
# Tell whether all sites can be reached and whether names, columns and policies fit, before anything is learned.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
exec "$here/run.sh" check
