-- +goose Up

-- Ids sort by bytes, as Go compares strings, so that a keyset cursor means the
-- same on every cluster whatever its locale. Whatever a person or an agent may
-- write freely is bytea: text and jsonb refuse the character U+0000.

-- One row a run: what its record held at sequence number seq.
CREATE TABLE runs (
    org        text COLLATE "C" NOT NULL,
    run_id     text COLLATE "C" NOT NULL,
    seq        bigint           NOT NULL,
    process    text COLLATE "C" NOT NULL,
    version    integer          NOT NULL,
    state      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C",
    started_at timestamptz      NOT NULL,
    updated_at timestamptz      NOT NULL,
    inputs     bytea            NOT NULL,
    -- Digests of (org, key): bounded in size, whatever the input was, and
    -- different for every organization.
    input_keys bytea[]          NOT NULL,
    files      text[] COLLATE "C" NOT NULL,
    record     bytea            NOT NULL,
    PRIMARY KEY (org, run_id)
) WITH (fillfactor = 80);

CREATE INDEX runs_newest ON runs (org, started_at DESC, run_id DESC);
CREATE INDEX runs_newest_of_process ON runs (org, process, started_at DESC, run_id DESC);
CREATE INDEX runs_newest_in_state ON runs (org, state, started_at DESC, run_id DESC);
-- Not of seq: it changes with every write, and an indexed column that changes
-- makes every index of the table be written.
CREATE INDEX runs_open ON runs (org, run_id) WHERE state NOT IN ('ended', 'cancelled');
CREATE INDEX runs_input_keys ON runs USING gin (input_keys);
CREATE INDEX runs_files ON runs USING gin (files) WHERE files <> '{}';

-- What agents can claim and people can decide, now or from a known moment on.
CREATE TABLE work (
    org       text COLLATE "C" NOT NULL,
    run_id    text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    agent     boolean          NOT NULL,
    step_id   text COLLATE "C" NOT NULL,
    process   text COLLATE "C" NOT NULL,
    available timestamptz      NOT NULL,
    -- UTF-8 bytes: an address comes from run data.
    assignee  bytea            NOT NULL,
    PRIMARY KEY (org, run_id, key)
);

CREATE INDEX work_agent ON work (org, available, run_id, key) WHERE agent;
CREATE INDEX work_agent_of_process ON work (org, process, available, run_id, key) WHERE agent;
CREATE INDEX work_person ON work (org, assignee, available, run_id, key) WHERE NOT agent;
CREATE INDEX work_person_of_process ON work (org, assignee, process, available, run_id, key) WHERE NOT agent;

-- Rows come and go all day; vacuum early keeps the index scans short.
ALTER TABLE work SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- One row a requestId: reserved, then done with its result.
CREATE TABLE requests (
    org        text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    digest     bytea            NOT NULL,
    tool       text COLLATE "C" NOT NULL,
    run_id     text COLLATE "C" NOT NULL,
    attempt    text COLLATE "C" NOT NULL,
    not_after  timestamptz      NOT NULL,
    done       boolean          NOT NULL,
    result     bytea,
    created_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org, request_id)
);

CREATE INDEX requests_pending ON requests (not_after) WHERE NOT done;
CREATE INDEX requests_of_run ON requests (org, run_id) WHERE run_id <> '';

-- Evidence: what was uploaded, and the hash it had then.
CREATE TABLE files (
    org          text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    name         bytea            NOT NULL,
    content_type bytea            NOT NULL,
    sha256       text COLLATE "C" NOT NULL,
    bytes        bigint           NOT NULL,
    uploaded_by  text COLLATE "C" NOT NULL,
    created_at   timestamptz      NOT NULL DEFAULT clock_timestamp(),
    content      bytea            NOT NULL,
    PRIMARY KEY (org, id)
);

-- Most evidence is compressed already.
ALTER TABLE files ALTER COLUMN content SET STORAGE EXTERNAL;

-- A process as its publishers edit it.
CREATE TABLE drafts (
    org        text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    source     bytea            NOT NULL,
    bindings   bytea            NOT NULL,
    updated_by text COLLATE "C" NOT NULL,
    updated_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org, name)
);

-- A process as runs execute it.
CREATE TABLE versions (
    org          text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    number       integer          NOT NULL CHECK (number > 0),
    hash         text COLLATE "C" NOT NULL,
    description  bytea            NOT NULL,
    source       bytea            NOT NULL,
    document     bytea            NOT NULL,
    bindings     bytea            NOT NULL,
    published_by text COLLATE "C" NOT NULL,
    published_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org, name, number)
);

CREATE INDEX versions_newest ON versions (org, name, number DESC);

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on %: rows of this table never change', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER versions_never_change BEFORE UPDATE OR DELETE ON versions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER versions_stay BEFORE TRUNCATE ON versions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
