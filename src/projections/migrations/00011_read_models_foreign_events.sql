-- The first leaf that this service cannot prove to have written, if no operator has adopted it: nothing is signed.
alter table read_models.audit_trees add column foreign_leaf bigint, add column foreign_event text collate "C";
