-- State of an audit tree, sealed under a key that is not in the database, so that changed tables are never signed.
alter table read_models.audit_trees add column hashes text collate "C", add column seal text collate "C";
