# Settings that all scripts in this directory share: where Flower's commands are, and how they behave. Sourced, not run.
#
# The commands are found on PATH, or in the directory of COMITY_PYTHON (for example /opt/comity/bin/python).

if [ -n "${COMITY_PYTHON:-}" ]; then
    PATH=$(dirname -- "$COMITY_PYTHON"):$PATH
else
    COMITY_PYTHON=python3
fi
export PATH
for command in "$COMITY_PYTHON" flwr flower-superlink flower-supernode; do
    if ! command -v "$command" > /dev/null; then
        echo "$command is not on PATH; activate the environment with comity[flower], or set COMITY_PYTHON to its python" >&2
        exit 2
    fi
done

umask 077
mkdir -p "$here/state"
export FLWR_HOME="$here/state/flower"
export FLWR_TELEMETRY_ENABLED=0
export FLWR_DISABLE_UPDATE_CHECK=1
export FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1
export PYTHONUNBUFFERED=1

# Print a text as a TOML string.
toml() {
    printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"
}

if [ "$COMITY_INSECURE" = yes ]; then
    echo "WARNING: this deployment is INSECURE: nothing is encrypted, and anybody may join. For trials only." >&2
fi
