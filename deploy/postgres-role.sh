#!/bin/sh
# The store refuses a superuser, because row-level security does not apply to it.
set -eu
psql --username postgres --set password="$REEVE_PASSWORD" <<'SQL'
create role reeve login password :'password';
create database reeve owner reeve;
SQL
