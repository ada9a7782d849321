-- Mail caught by the built-in server (MAIL_URL=capture:). Nothing else depends on it: it may be emptied at any time.
create schema inbox;

create table inbox.captured_mail (
  id bigint generated always as identity primary key,
  received_at timestamptz not null,
  envelope_from text not null,
  -- Array of strings, in the order of RCPT TO.
  envelope_to jsonb not null,
  size_bytes integer not null,
  raw bytea not null,
  -- Mail of test keys is simulated and shown to test keys alone.
  environment text not null default 'live'
);

-- Compressing base64 and html for the few minutes they are kept costs more time than it saves space.
alter table inbox.captured_mail alter column raw set storage external;
