#!/bin/sh
# The image of PostgreSQL runs this once, as its superuser, when its volume is empty. It makes two roles that are no
# superusers: one owns the tables and is used by `memstone migrate` alone, the other is the service's. The service's role
# owns nothing, so that row-level security binds it.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\getenv database POSTGRES_DB
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD
CREATE ROLE memstone_owner LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE PASSWORD :'owner_password';
CREATE ROLE memstone LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB PASSWORD :'service_password';
ALTER DATABASE :"database" OWNER TO memstone_owner;
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO memstone;
CREATE EXTENSION IF NOT EXISTS vector;
SQL
