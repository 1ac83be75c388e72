-- +goose Up

-- The oldest binary that can serve from this schema, by the last migration it
-- knows. A migration that takes away what older releases use raises it.
CREATE TABLE schema_floor (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL
);

INSERT INTO schema_floor (version) VALUES (1);
