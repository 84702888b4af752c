-- By this row a file says that a log belongs to it, without which it is not whole; see sqlite_log_mark.py.
CREATE TABLE log_mark (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    announced INTEGER NOT NULL DEFAULT 0,
    begun     INTEGER NOT NULL DEFAULT 0
);
INSERT INTO log_mark (id) VALUES (1);
