-- The whole schema. '' in a scope column means "not set". tenant_id leads every key, so that the same
-- schema can be distributed by tenant. All times are UTC text of one fixed width: text order is time order.

-- "a = 'x' OR a = 'y'" where "a IN ('x', 'y')" would do: SQLite makes a table of such a list at every row it checks,
-- which is half the work of storing one.
CREATE TABLE memories (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id    TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    version      INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
    valid_from   TEXT    NOT NULL,
    valid_to     TEXT,
    origin       TEXT    NOT NULL
                 CHECK (origin = 'user' OR origin = 'assistant' OR origin = 'tool' OR origin = 'import' OR
                        origin = 'derived' OR origin = 'system'),
    trust        REAL    NOT NULL DEFAULT 1.0,
    layer        TEXT    NOT NULL CHECK (layer = 'identity' OR layer = 'fact' OR layer = 'episode' OR layer = 'turn'),
    kind         TEXT    NOT NULL
                 CHECK (kind = 'factual' OR kind = 'episodic' OR kind = 'procedural' OR kind = 'semantic' OR
                        kind = 'override' OR kind = 'derived' OR kind = 'narrative'),
    key          TEXT,
    text         TEXT    NOT NULL,
    hash         TEXT    NOT NULL,
    data         TEXT    NOT NULL DEFAULT '{}',
    metadata     TEXT    NOT NULL DEFAULT '{}',
    salience     REAL    NOT NULL DEFAULT 0.5 CHECK (salience BETWEEN 0 AND 1),
    anchor_at    TEXT    NOT NULL,
    source_count INTEGER NOT NULL DEFAULT 1 CHECK (source_count >= 0),
    status       TEXT    NOT NULL DEFAULT 'active'
                 CHECK (status = 'active' OR status = 'disabled' OR status = 'superseded' OR status = 'evicted' OR
                        status = 'quarantined' OR status = 'deleted'),
    source       TEXT    NOT NULL DEFAULT 'manual'
                 CHECK (source = 'pattern' OR source = 'digest' OR source = 'facts' OR source = 'manual' OR
                        source = 'import' OR source = 'summary' OR source = 'bootstrap'),
    source_role  TEXT,
    model        TEXT,
    origin_id    TEXT,
    tokens       INTEGER NOT NULL DEFAULT 0,
    occurred_at  TEXT    NOT NULL,
    created_at   TEXT    NOT NULL,
    updated_at   TEXT    NOT NULL,
    expires_at   TEXT
);
-- One current version per id, and no past one twice. One index for both, led by random ids, because each such index
-- costs a write a page of its own; the current version stands first, as if it were number 0.
CREATE UNIQUE INDEX memories_versions ON memories (tenant_id, id, CASE WHEN valid_to IS NULL THEN 0 ELSE version END);
-- What points at a version names its tenant too: nothing of one tenant can hang on a row of another.
CREATE UNIQUE INDEX memories_owner ON memories (tenant_id, seq);
CREATE INDEX memories_kind ON memories (tenant_id, layer, kind, seq);
CREATE INDEX memories_expiry ON memories (tenant_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_origin ON memories (tenant_id, origin_id) WHERE origin_id IS NOT NULL;
-- What was deleted and still has its words; without them it has no hash. The status is a column and no condition:
-- SQLite compiles every statement with "status = ?" anew at each use if an index may or may not serve by that value.
CREATE INDEX memories_buried ON memories (tenant_id, status, valid_to) WHERE valid_to IS NOT NULL AND hash <> '';

CREATE TABLE links (
    tenant_id    TEXT    NOT NULL,
    memory_seq   INTEGER NOT NULL,
    user_id      TEXT    NOT NULL DEFAULT '',
    agent_id     TEXT    NOT NULL DEFAULT '',
    run_id       TEXT    NOT NULL DEFAULT '',
    dedupe       TEXT,
    origin       TEXT    NOT NULL DEFAULT 'direct' CHECK (origin = 'direct' OR origin = 'shared' OR origin = 'mirror'),
    use_count    INTEGER NOT NULL DEFAULT 0 CHECK (use_count >= 0),
    last_used_at TEXT,
    created_at   TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, memory_seq, user_id, agent_id, run_id),
    FOREIGN KEY (tenant_id, memory_seq) REFERENCES memories (tenant_id, seq) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX links_user ON links (tenant_id, user_id, memory_seq);
CREATE INDEX links_agent ON links (tenant_id, agent_id, memory_seq) WHERE agent_id <> '';
CREATE INDEX links_run ON links (tenant_id, run_id, memory_seq) WHERE run_id <> '';
-- dedupe is set while the version is current and given up when it ends: eight writers, one winner.
CREATE UNIQUE INDEX links_dedupe ON links (tenant_id, dedupe) WHERE dedupe IS NOT NULL;

CREATE TABLE events (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    memory_id  TEXT    NOT NULL,
    event      TEXT    NOT NULL
               CHECK (event = 'ADD' OR event = 'UPDATE' OR event = 'DELETE' OR event = 'REPLACE' OR event = 'LINK' OR
                      event = 'UNLINK' OR event = 'DISABLE' OR event = 'ENABLE' OR event = 'MERGE' OR
                      event = 'PROMOTE' OR event = 'EVICT' OR event = 'SUMMARIZE' OR event = 'FEEDBACK' OR
                      event = 'REDACT'),
    old_text   TEXT,
    new_text   TEXT,
    old_id     TEXT,
    new_id     TEXT,
    reason     TEXT,
    before     TEXT,
    after      TEXT,
    actor      TEXT    NOT NULL DEFAULT 'caller',
    user_id    TEXT    NOT NULL DEFAULT '',
    agent_id   TEXT    NOT NULL DEFAULT '',
    run_id     TEXT    NOT NULL DEFAULT '',
    job_id     TEXT,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    created_at TEXT    NOT NULL,
    undoes     TEXT
);
CREATE INDEX events_memory ON events (tenant_id, memory_id, seq);
CREATE INDEX events_job ON events (tenant_id, job_id, seq) WHERE job_id IS NOT NULL;
CREATE INDEX events_old ON events (tenant_id, old_id, seq) WHERE old_id IS NOT NULL;
CREATE INDEX events_time ON events (tenant_id, created_at);

CREATE TABLE signals (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id      TEXT    NOT NULL,
    id             TEXT    NOT NULL,
    user_id        TEXT    NOT NULL DEFAULT '',
    agent_id       TEXT    NOT NULL DEFAULT '',
    run_id         TEXT    NOT NULL DEFAULT '',
    user_text      TEXT    NOT NULL,
    assistant_text TEXT,
    data           TEXT    NOT NULL DEFAULT '{}',
    status         TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processed', 'dead')),
    attempts       INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    last_error     TEXT,
    due_at         TEXT             DEFAULT '',
    occurred_at    TEXT    NOT NULL,
    created_at     TEXT    NOT NULL,
    UNIQUE (tenant_id, id)
);
-- due_at: '' is at once, NULL only when somebody asks for it. A session is due when the last of its signals is.
CREATE INDEX signals_queue ON signals (tenant_id, status, user_id, agent_id, run_id, due_at);
CREATE INDEX signals_due ON signals (status, due_at);

-- Who works on what, and until when nobody else does.
CREATE TABLE leases (
    tenant_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    owner     TEXT NOT NULL,
    until     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) WITHOUT ROWID;

CREATE TABLE jobs (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id     TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    task          TEXT    NOT NULL,
    user_id       TEXT    NOT NULL DEFAULT '',
    agent_id      TEXT    NOT NULL DEFAULT '',
    run_id        TEXT    NOT NULL DEFAULT '',
    model         TEXT,
    status        TEXT    NOT NULL CHECK (status IN ('success', 'skipped', 'empty', 'error', 'dead_letter')),
    details       TEXT    NOT NULL DEFAULT '{}',
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    duration_ms   REAL    NOT NULL DEFAULT 0,
    created_at    TEXT    NOT NULL,
    UNIQUE (tenant_id, id)
);
CREATE INDEX jobs_time ON jobs (tenant_id, task, created_at);

-- scope_key: '' is the tenant, else user:<id>, agent:<id> or run:<id>. The row with neither scope_key nor key holds
-- a version that differs after every change, so that other processes notice.
CREATE TABLE settings (
    tenant_id  TEXT NOT NULL,
    scope_key  TEXT NOT NULL DEFAULT '',
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, scope_key, key)
) WITHOUT ROWID;

CREATE TABLE vectors (
    tenant_id  TEXT    NOT NULL,
    memory_seq INTEGER NOT NULL,
    signature  TEXT    NOT NULL,
    vector     BLOB    NOT NULL,
    words      BLOB,
    PRIMARY KEY (tenant_id, memory_seq, signature),
    FOREIGN KEY (tenant_id, memory_seq) REFERENCES memories (tenant_id, seq) ON DELETE CASCADE
);

CREATE TABLE indexes (
    tenant_id TEXT    NOT NULL,
    signature TEXT    NOT NULL,
    backend   TEXT    NOT NULL DEFAULT 'local',
    dim       INTEGER NOT NULL CHECK (dim > 0),
    quant     TEXT    NOT NULL DEFAULT '',
    state     TEXT    NOT NULL CHECK (state IN ('building', 'active', 'stale')),
    PRIMARY KEY (tenant_id, signature)
) WITHOUT ROWID;
CREATE UNIQUE INDEX indexes_active ON indexes (tenant_id) WHERE state = 'active';

-- What an index outside the transaction has to look at again. In-process and external indexes follow it by cursor.
CREATE TABLE changes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    memory_seq INTEGER NOT NULL
);
CREATE INDEX changes_user ON changes (tenant_id, user_id, id, memory_seq);

CREATE TABLE entities (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id   TEXT NOT NULL,
    id          TEXT NOT NULL,
    user_id     TEXT NOT NULL DEFAULT '',
    agent_id    TEXT NOT NULL DEFAULT '',
    run_id      TEXT NOT NULL DEFAULT '',
    name        TEXT NOT NULL,
    norm        TEXT NOT NULL,
    type        TEXT NOT NULL,
    description TEXT,
    updated_at  TEXT NOT NULL,
    UNIQUE (tenant_id, id),
    UNIQUE (tenant_id, user_id, agent_id, run_id, norm, type)
);

CREATE TABLE relations (
    tenant_id  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    source_id  TEXT    NOT NULL,
    target_id  TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    confidence REAL    NOT NULL DEFAULT 1.0,
    valid_from TEXT    NOT NULL,
    valid_to   TEXT,
    memory_seq INTEGER NOT NULL,
    updated_at TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, target_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_seq) REFERENCES memories (tenant_id, seq) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX relations_source ON relations (tenant_id, source_id);
CREATE INDEX relations_target ON relations (tenant_id, target_id);
CREATE INDEX relations_memory ON relations (tenant_id, memory_seq);

CREATE TABLE mentions (
    tenant_id  TEXT    NOT NULL,
    entity_id  TEXT    NOT NULL,
    memory_seq INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, entity_id, memory_seq),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_seq) REFERENCES memories (tenant_id, seq) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX mentions_memory ON mentions (tenant_id, memory_seq);

-- What is set for an agent stands in settings.
CREATE TABLE agents (
    tenant_id     TEXT NOT NULL,
    id            TEXT NOT NULL,
    name          TEXT NOT NULL DEFAULT '',
    model         TEXT,
    system_prompt TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

-- Only what recognises a key; the id is part of the key and tells which row to look at.
CREATE TABLE api_keys (
    tenant_id      TEXT NOT NULL,
    id             TEXT NOT NULL,
    name           TEXT NOT NULL DEFAULT '',
    hash           TEXT NOT NULL,
    subjects       TEXT NOT NULL DEFAULT '{}',
    verbs          TEXT NOT NULL DEFAULT '[]',
    created_at     TEXT NOT NULL,
    expires_at     TEXT,
    revoked_at     TEXT,
    last_used_at   TEXT,
    previous_hash  TEXT,
    previous_until TEXT,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX api_keys_id ON api_keys (id);

-- People who log in. What recognises a password, never the password; the login is folded.
CREATE TABLE accounts (
    tenant_id     TEXT NOT NULL,
    id            TEXT NOT NULL,
    login         TEXT NOT NULL,
    password      TEXT NOT NULL,
    name          TEXT NOT NULL DEFAULT '',
    role          TEXT NOT NULL,
    user_id       TEXT NOT NULL DEFAULT '',
    agent_id      TEXT NOT NULL DEFAULT '',
    disabled      INTEGER NOT NULL DEFAULT 0,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    last_login_at TEXT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, login)
) WITHOUT ROWID;

-- One row a login. family recognises every token that was given out for it, current_hash the one that is valid.
CREATE TABLE account_sessions (
    tenant_id    TEXT NOT NULL,
    id           TEXT NOT NULL,
    account_id   TEXT NOT NULL,
    family       TEXT NOT NULL,
    current_hash TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    expires_at   TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, account_id) REFERENCES accounts (tenant_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX account_sessions_account ON account_sessions (tenant_id, account_id);

CREATE TABLE receipts (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL,
    user_id    TEXT NOT NULL DEFAULT '',
    agent_id   TEXT NOT NULL DEFAULT '',
    run_id     TEXT NOT NULL DEFAULT '',
    body       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX receipts_time ON receipts (tenant_id, created_at);

CREATE TABLE suppressed (
    tenant_id  TEXT NOT NULL,
    dedupe     TEXT NOT NULL,
    slot       TEXT,
    turn_id    TEXT,
    memory_id  TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, dedupe)
) WITHOUT ROWID;

CREATE TABLE llm_cache (
    tenant_id  TEXT NOT NULL,
    key        TEXT NOT NULL,
    reply      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, key)
);

CREATE TABLE calibration (
    tenant_id  TEXT NOT NULL,
    signature  TEXT NOT NULL,
    body       TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, signature)
) WITHOUT ROWID;

-- The answer of a batch that carried an idempotency key, written in the batch's own transaction.
CREATE TABLE idempotency (
    tenant_id  TEXT NOT NULL,
    key        TEXT NOT NULL,
    request    TEXT NOT NULL,
    reply      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_time ON idempotency (created_at);

-- What a store keeps about itself, apart from settings because nobody is shown it: the keys that sign reports, what was
-- erased (by digests under the key: not whose), and the copies that were made of it (tenant '' is the whole store).
CREATE TABLE secrets (
    tenant_id  TEXT NOT NULL,
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) WITHOUT ROWID;

CREATE TABLE erasures (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id     TEXT NOT NULL,
    id            TEXT NOT NULL,
    user_digest   TEXT NOT NULL DEFAULT '',
    agent_digest  TEXT NOT NULL DEFAULT '',
    run_digest    TEXT NOT NULL DEFAULT '',
    memory_digest TEXT NOT NULL DEFAULT '',
    created_at    TEXT NOT NULL,
    UNIQUE (tenant_id, id)
);

CREATE TABLE backups (
    tenant_id  TEXT    NOT NULL DEFAULT '',
    path       TEXT    NOT NULL,
    whole      INTEGER NOT NULL DEFAULT 0,
    created_at TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, path)
) WITHOUT ROWID;

-- How often something happened that leaves no event, by user and day.
CREATE TABLE counters (
    tenant_id TEXT    NOT NULL,
    user_id   TEXT    NOT NULL DEFAULT '',
    day       TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    value     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, user_id, day, name)
) WITHOUT ROWID;

-- Words come analysed and separated by blanks; every other character is part of a word.
CREATE TABLE words (
    seq     INTEGER PRIMARY KEY,
    body    TEXT NOT NULL,
    key     TEXT NOT NULL DEFAULT '',
    speaker TEXT NOT NULL DEFAULT '',
    day     TEXT NOT NULL DEFAULT '',
    scope   TEXT NOT NULL DEFAULT ''
);
-- The index over them follows by a few hundred rows: for one row, it costs more than all the rest of a write.
CREATE VIRTUAL TABLE fulltext USING fts5 (
    body, key, speaker, day, scope, content = 'words', content_rowid = 'seq',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
);

-- Its parts are merged when eight are of one size, not four: what is written for each word twice as rarely is worth the
-- few more parts that a question looks at.
INSERT INTO fulltext (fulltext, rank) VALUES ('automerge', 8);

CREATE VIEW memory_history AS
SELECT id, memory_id, event, old_text AS old_value, new_text AS new_value, created_at AS timestamp, is_deleted,
       tenant_id, user_id, agent_id, run_id
FROM events WHERE event IN ('ADD', 'UPDATE', 'DELETE');

-- What took the place of what, for whom: a version under the same id, a memory of one's own, or nothing.
CREATE VIEW memory_updates AS
SELECT id, tenant_id, user_id, coalesce(old_id, memory_id) AS old_vector_id,
       CASE WHEN event = 'UPDATE' THEN coalesce(new_id, memory_id) ELSE new_id END AS new_vector_id, reason, created_at
FROM events WHERE event IN ('REPLACE', 'UNLINK', 'DELETE') OR (event = 'UPDATE' AND old_text <> new_text);

-- A store of vectors and of who holds them, as other tools know it; "values" is little-endian float32.
CREATE VIEW shared_vectors AS
SELECT m.tenant_id, m.id, v.vector AS "values",
       json_object('content', m.text, 'type', 'memory', 'created_at', m.created_at) AS metadata
FROM memories m
JOIN indexes i ON i.tenant_id = m.tenant_id AND i.state = 'active'
JOIN vectors v ON v.tenant_id = m.tenant_id AND v.memory_seq = m.seq AND v.signature = i.signature
WHERE m.valid_to IS NULL AND m.status = 'active' AND m.layer = 'fact'
  AND (m.expires_at IS NULL OR m.expires_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));

CREATE VIEW users_vectors AS
SELECT DISTINCT l.tenant_id, l.user_id, m.id AS vector_id
FROM links l JOIN memories m ON m.tenant_id = l.tenant_id AND m.seq = l.memory_seq
WHERE l.user_id <> '' AND m.valid_to IS NULL AND m.status = 'active' AND m.layer = 'fact'
  AND (m.expires_at IS NULL OR m.expires_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
