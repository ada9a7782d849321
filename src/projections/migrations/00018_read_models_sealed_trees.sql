-- What an audit tree has so far, sealed under a key that is not in the database: tables that somebody changed are not signed.
alter table read_models.audit_trees add column hashes text collate "C", add column seal text collate "C";
