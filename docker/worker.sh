#!/bin/bash
# A worker: wait for the head's keys, put this host's name on the list, then serve ssh until told to stop.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/ssh.sh"

refuse_root
end=$((SECONDS + patience))
until [ -d "$cluster/keys" ]; do
    [ "$SECONDS" -lt "$end" ] || die "no keys in $cluster/keys after $patience s: is a head running on the same volume?"
    sleep 0.2
done
configure_client
mkdir -p -- "$cluster/hosts"
touch -- "$cluster/hosts/$(hostname)"
serve
