-- The role and the database of the gateways. PostgreSQL's image runs this when its volume is new.
\set password `cat /run/secrets/gatehouse-password`
CREATE ROLE gatehouse LOGIN PASSWORD :'password';
CREATE DATABASE gatehouse OWNER gatehouse ENCODING 'UTF8' TEMPLATE template0;
