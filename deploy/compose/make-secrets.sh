#!/bin/sh
# Makes what the gateways and PostgreSQL of deploy/compose.yaml prove themselves with, once: the password of the gateways'
# role, the key that seals the gateways' own keys, and PostgreSQL's certificate. The service `secrets` runs it.
#
#   make-secrets.sh GATEWAYS POSTGRES        two directories; where the first is complete, nothing is made
#
# As root each file goes to the user that reads it: 65532 in the gateways' image, 999 in PostgreSQL's.
set -eu
umask 077

gateways=$1
postgres=$2
[ ! -e "$gateways/complete" ] || exit 0

# Files that an interrupted run has left may belong to others already: they are not written to, but made anew.
rm -f "$gateways"/*.pem "$gateways"/*-password "$gateways"/*-key "$postgres"/*.pem "$postgres"/*-password "$postgres"/*.key
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

openssl rand -hex 32 >"$gateways/postgres-password"
cp "$gateways/postgres-password" "$postgres/gatehouse-password"
# PostgreSQL's image asks for one. No connection over the network uses it: pg_hba.conf.
openssl rand -hex 32 >"$postgres/superuser-password"
echo "1:$(openssl rand -base64 32)" >"$gateways/state-sealing-key"

# An authority that signs one certificate. Its key is nowhere afterwards: nobody can sign another one.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=Authority of Compose" \
    -keyout "$work/authority.key" -out "$gateways/postgres-authority.pem"
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=postgres -addext subjectAltName=DNS:postgres \
    -keyout "$postgres/server.key" -out "$work/server.csr"
openssl x509 -req -in "$work/server.csr" -copy_extensions copy -days 3650 \
    -CA "$gateways/postgres-authority.pem" -CAkey "$work/authority.key" -out "$postgres/server.pem"

if [ "$(id -u)" = 0 ]; then
    chown 65532:65532 "$gateways"/*
    chown 999:999 "$postgres"/*
fi
touch "$gateways/complete"
