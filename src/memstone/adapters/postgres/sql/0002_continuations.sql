-- An answer of a model that began under one number and ended under another, and of whose chat it is.
CREATE TABLE continuations (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL DEFAULT '',
    began      TEXT COLLATE "C" NOT NULL,
    ended      TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, user_id, began)
);
CREATE INDEX continuations_time ON continuations (tenant_id, created_at);
ALTER TABLE continuations ENABLE ROW LEVEL SECURITY;
ALTER TABLE continuations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON continuations USING (tenant_id = memstone.tenant_spoken_for());
