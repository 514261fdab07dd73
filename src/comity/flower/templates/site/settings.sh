# Where things are. Edit here; a variable of the environment wins.
# COMITY_ADDRESS is where the coordinator is reached.
: "$${COMITY_ADDRESS:=${address}}"
# A port of this machine, used on 127.0.0.1 only; each site that is tried on the same machine needs its own.
: "$${COMITY_PORT:=${own_port}}"
COMITY_INSECURE=${insecure}
