# Write the SuperLink's internal address into the configuration of Flower's command line. Sourced, not run.

mkdir -p "$FLWR_HOME"
{
    printf '[superlink]\ndefault = "comity"\n\n[superlink.comity]\naddress = "127.0.0.1:%s"\n' "$COMITY_CONTROL_PORT"
    if [ "$COMITY_INSECURE" = yes ]; then
        printf 'insecure = true\n'
    else
        printf 'root-certificates = %s\n' "$(toml "$here/certificates/ca.crt")"
    fi
} > "$FLWR_HOME/config.toml"
