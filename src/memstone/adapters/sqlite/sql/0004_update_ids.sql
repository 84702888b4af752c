-- A new version is not the one it took the place of: what ended is named by id and number, what holds now by its id.
DROP VIEW memory_updates;
CREATE VIEW memory_updates AS
SELECT id, tenant_id, user_id,
       CASE WHEN event = 'UPDATE' AND coalesce(new_id, memory_id) = coalesce(old_id, memory_id)
            THEN memory_id || '#' || coalesce(json_extract(before, '$.version'), id)
            ELSE coalesce(old_id, memory_id) END AS old_vector_id,
       CASE WHEN event = 'UPDATE' THEN coalesce(new_id, memory_id) ELSE new_id END AS new_vector_id,
       reason, created_at, event, memory_id, json_extract(before, '$.version') AS old_version,
       CASE WHEN event = 'UPDATE' THEN json_extract(after, '$.version') END AS new_version
FROM events WHERE event IN ('REPLACE', 'UNLINK', 'DELETE') OR (event = 'UPDATE' AND old_text <> new_text);
