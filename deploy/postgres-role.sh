#!/bin/sh
# The store refuses a superuser: row-level security does not hold for one.
set -eu
psql --username postgres --set password="$REEVE_PASSWORD" <<'SQL'
create role reeve login password :'password';
create database reeve owner reeve;
SQL
