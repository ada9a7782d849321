alter table read_models.inbound_messages add column forward_due_at timestamptz;
create index inbound_messages_forward_due on read_models.inbound_messages (forward_due_at) where forward_due_at is not null;
