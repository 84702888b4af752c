-- An answer of a model that began under one number and ended under another, and of whose chat it is.
CREATE TABLE continuations (
    tenant_id  TEXT NOT NULL,
    user_id    TEXT NOT NULL DEFAULT '',
    began      TEXT NOT NULL,
    ended      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, began)
) WITHOUT ROWID;
CREATE INDEX continuations_time ON continuations (tenant_id, created_at);
