-- Organizations take turns at destinations. Rows that are older have none, and take their turns together.
alter table read_models.deliveries add column organization_id text collate "C";
