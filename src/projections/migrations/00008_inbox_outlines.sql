-- Facts that lists show, read from a message once, when it is captured. A message that an earlier version captured shows
-- no subject, and only an owner may read it: it may hold a sign-in link.
alter table inbox.captured_mail
  add column subject text,
  -- Array of {filename, contentType, sizeBytes}.
  add column attachments jsonb not null default '[]',
  add column confidential boolean not null default true;
