-- Times are timestamps, so that they can be compared with now(). A new version is not the one it took the place of: what
-- ended is named by id and number, what holds now by its id.

-- A view that changes its columns has to be made anew; whoever was granted a look at it keeps that.
CREATE TEMP TABLE granted_views ON COMMIT DROP AS
SELECT c.relname::text AS view, g.privilege_type::text AS privilege, g.is_grantable AS grantable,
       CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS role
FROM pg_class c, LATERAL aclexplode(c.relacl) g
WHERE c.relnamespace = 'memstone_views'::regnamespace AND c.relname IN ('memory_history', 'memory_updates')
  AND g.grantee <> c.relowner;

DROP VIEW memstone_views.memory_history;
CREATE VIEW memstone_views.memory_history WITH (security_invoker = true) AS
SELECT id, memory_id, event, old_text AS old_value, new_text AS new_value, created_at::timestamptz AS timestamp,
       is_deleted, tenant_id, user_id, agent_id, run_id
FROM events WHERE event IN ('ADD', 'UPDATE', 'DELETE');

DROP VIEW memstone_views.memory_updates;
CREATE VIEW memstone_views.memory_updates WITH (security_invoker = true) AS
SELECT id, tenant_id, user_id,
       CASE WHEN event = 'UPDATE' AND coalesce(new_id, memory_id) = coalesce(old_id, memory_id)
            THEN memory_id || '#' || coalesce(readable(before) ->> 'version', id)
            ELSE coalesce(old_id, memory_id) END AS old_vector_id,
       CASE WHEN event = 'UPDATE' THEN coalesce(new_id, memory_id) ELSE new_id END AS new_vector_id,
       reason, created_at::timestamptz AS created_at, event, memory_id,
       (readable(before) ->> 'version')::int AS old_version,
       CASE WHEN event = 'UPDATE' THEN (readable(after) ->> 'version')::int END AS new_version
FROM events WHERE event IN ('REPLACE', 'UNLINK', 'DELETE') OR (event = 'UPDATE' AND old_text <> new_text);

DO $$
DECLARE
    one RECORD;
BEGIN
    FOR one IN SELECT * FROM granted_views LOOP
        EXECUTE format('GRANT %s ON memstone_views.%I TO %s%s', one.privilege, one.view, one.role,
                       CASE WHEN one.grantable THEN ' WITH GRANT OPTION' ELSE '' END);
    END LOOP;
END $$;
