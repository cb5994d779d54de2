#!/bin/bash
# The cluster's own ssh: keys, client and server of one user who is not root, on a high port.
# Sourced by head.sh and worker.sh for its functions; `ssh.sh health` asks this host's server to run `true`.
#
#   CODED_MR_CLUSTER  directory that all hosts share, for keys, names and the list of hosts (/cluster)
#   CODED_MR_PORT     where the servers listen (2222)
#   CODED_MR_WAIT     seconds to wait for the others before giving up (60)
set -euo pipefail

cluster=${CODED_MR_CLUSTER:-/cluster}
port=${CODED_MR_PORT:-2222}
patience=${CODED_MR_WAIT:-60}

die() {
    echo "$(basename -- "$0"): $*" >&2
    exit 1
}

# Root's server would let anyone with the key be root in every container.
refuse_root() {
    [ "$(id -u)" != 0 ] || die "a cluster is not run as root; start the container as its own user"
}

# Keys are complete when they can be seen: made beside their place, then renamed.
make_keys() {
    if [ -d "$cluster/keys" ]; then return; fi
    [ -w "$cluster" ] || die "user $(id -u) cannot write in $cluster: give it a volume of the image's user"
    local fresh
    fresh=$(mktemp -d -- "$cluster/.keys-XXXXXX")
    ssh-keygen -q -t ed25519 -N '' -C coded-mr-user -f "$fresh/user"
    ssh-keygen -q -t ed25519 -N '' -C coded-mr-host -f "$fresh/host"
    cp -- "$fresh/user.pub" "$fresh/authorized_keys"
    echo "* $(cat -- "$fresh/host.pub")" >"$fresh/known_hosts"
    chmod 600 -- "$fresh"/*
    mv -T -- "$fresh" "$cluster/keys"
}

# For mpirun, which calls plain `ssh HOST`.
configure_client() {
    mkdir -p -m 700 -- "$HOME/.ssh"
    (
        umask 077
        cat >"$HOME/.ssh/config" <<CONFIG
Host *
    Port $port
    IdentityFile $cluster/keys/user
    IdentitiesOnly yes
    UserKnownHostsFile $cluster/keys/known_hosts
    GlobalKnownHostsFile none
    StrictHostKeyChecking yes
    BatchMode yes
    ConnectTimeout 5
    LogLevel ERROR
CONFIG
    )
}

# serve: become the server, in the foreground. Only the key opens it, and only for this user.
serve() {
    local server user options
    server=$(PATH=$PATH:/usr/sbin command -v sshd) || die "no sshd here; install openssh-server"
    user=$(id -un)
    options=(
        "Port=$port" "HostKey=$cluster/keys/host" "AuthorizedKeysFile=$cluster/keys/authorized_keys"
        "AllowUsers=$user" PermitRootLogin=no PubkeyAuthentication=yes PasswordAuthentication=no
        KbdInteractiveAuthentication=no UsePAM=no StrictModes=yes AllowTcpForwarding=no
        AllowAgentForwarding=no AllowStreamLocalForwarding=no X11Forwarding=no PermitTunnel=no
        PidFile=none MaxStartups=100 "SetEnv=PATH=$PATH"
    )
    exec "$server" -D -e -f /dev/null "${options[@]/#/-o}"
}

# answers HOST: whether its server lets us in.
answers() {
    ssh -n "$1" true 2>/dev/null
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    [ "${1-}" = health ] || die "usage: ssh.sh health"
    answers 127.0.0.1 || die "the ssh server of this host does not answer on port $port"
fi
