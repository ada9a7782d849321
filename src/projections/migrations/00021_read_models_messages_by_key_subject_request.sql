-- What messages are looked up by besides: the key that sent them, their subject (a keyed digest) and the request that
-- asked for them. No update touches these columns, so that rows are still updated in place.
alter table read_models.messages
  add column request_id text collate "C",
  add column subject_digest text collate "C";

create index messages_by_key on read_models.messages (organization_id, environment, key_id, created_at, message_id);
create index messages_by_subject
  on read_models.messages (organization_id, environment, subject_digest, created_at, message_id);
-- A batch is 500 messages at most: they are put in order when they are asked for.
create index messages_by_request on read_models.messages (request_id);
