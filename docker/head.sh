#!/bin/bash
# The head: make the keys, wait for the workers, write $CODED_MR_CLUSTER/hostfile for mpirun; then run
# the command given as arguments, or stay until told to stop so that commands can be run beside it.
#
#   CODED_MR_WORKERS  how many workers there have to be (1)
#   CODED_MR_SLOTS    ranks for each worker before mpirun has to double up (1)
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/ssh.sh"

workers=${CODED_MR_WORKERS:-1}
slots=${CODED_MR_SLOTS:-1}

# A name on the list may be that of a worker long gone: only those count that let us in.
present() {
    local name
    for name in "$cluster"/hosts/*; do
        name=${name##*/}
        if [ "$name" != '*' ] && answers "$name"; then echo "$name slots=$slots"; fi
    done
}

refuse_root
make_keys
configure_client
rm -f -- "$cluster/hostfile"
end=$((SECONDS + patience))
while found=$(present) && [ "$(grep -c . <<<"$found")" -lt "$workers" ]; do
    [ "$SECONDS" -lt "$end" ] ||
        die "only $(grep -c . <<<"$found") of $workers workers answered within $patience s: ${found:-none}"
    sleep 0.2
done
echo "$found" >"$cluster/.hostfile"
mv -- "$cluster/.hostfile" "$cluster/hostfile"
echo "$(grep -c . <<<"$found") workers are ready" >&2

if [ $# -gt 0 ]; then
    export PRTE_MCA_prte_default_hostfile=$cluster/hostfile
    exec "$@"
fi
trap 'exit 0' TERM INT
while :; do
    sleep 3600 &
    wait $!
done
