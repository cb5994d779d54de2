#!/bin/bash
# What a container does: `head` and `worker` make a cluster, `health` asks whether this one is ready;
# anything else is a command of coded-mr.
set -euo pipefail

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")

case "${1-}" in
    head | worker)
        role=$1
        shift
        exec "$here/$role.sh" "$@"
        ;;
    health) exec "$here/ssh.sh" health ;;
    coded-mr) exec "$@" ;;
    *) exec coded-mr "$@" ;;
esac
