-- Fewer bytes for each message. A key, a domain and the digest of a subject belong to one organization, which their indexes
-- need not name. Messages of one millisecond are sorted when they are queried.
drop index read_models.messages_newest, read_models.messages_by_domain, read_models.messages_by_key,
  read_models.messages_by_secret, read_models.messages_by_stream, read_models.messages_by_subject;
create index messages_newest on read_models.messages (organization_id, environment, created_at);
create index messages_by_domain on read_models.messages (domain_id, environment, created_at);
create index messages_by_key on read_models.messages (key_id, created_at);
create index messages_by_secret on read_models.messages (key_id, secret, created_at);
create index messages_by_stream on read_models.messages (organization_id, environment, stream, created_at);
create index messages_by_subject on read_models.messages (subject_digest, created_at);

-- 64 bits of SHA-256 say whose label it is and what it says: `labelKey`. A list reads them beside the messages, which say
-- whose they are.
create table read_models.shorter_labels (
  label bigint not null,
  created_at timestamptz not null,
  message_id text collate "C" not null
);
insert into read_models.shorter_labels (label, created_at, message_id)
select ('x' || encode(substring(sha256(convert_to(organization_id || ' ' || environment || ' ' || label, 'UTF8')) for 8), 'hex'))
  ::bit(64)::bigint, created_at, message_id
from read_models.message_labels order by created_at, message_id;
drop table read_models.message_labels;
alter table read_models.shorter_labels rename to message_labels;
create index message_labels_newest on read_models.message_labels (label, created_at);

drop index read_models.customer_events_by_domain;
create index customer_events_by_domain on read_models.customer_events (domain_id, environment, position, item)
  where domain_id is not null;
