-- +goose Up

-- Who did what: one row a write, one row a refusal for reasons of identity. Rows
-- are only ever added. Ids and codes only; nothing of what was written.
CREATE TABLE audit (
    at           timestamptz      NOT NULL DEFAULT clock_timestamp(),
    -- No running number: it would tell an organization how busy the others are.
    id           uuid             NOT NULL DEFAULT gen_random_uuid(),
    -- Empty where nobody was proved: then remote says where the call came from.
    org          text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    caller       text COLLATE "C" NOT NULL,
    client       text COLLATE "C" NOT NULL,
    on_behalf_of text COLLATE "C" NOT NULL,
    remote       text COLLATE "C" NOT NULL,
    action       text COLLATE "C" NOT NULL,
    -- A run, or a process for what is done to the catalog.
    run_id       text COLLATE "C" NOT NULL,
    process      text COLLATE "C" NOT NULL,
    request_id   text COLLATE "C" NOT NULL,
    result       text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, at, id)
);

CREATE INDEX audit_of_run ON audit (org, run_id, at, id) WHERE run_id <> '';

CREATE TRIGGER audit_never_changes BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_stays BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
