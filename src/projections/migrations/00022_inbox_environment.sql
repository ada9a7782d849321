-- Mail of test keys, which is simulated, is shown to test keys alone.
alter table inbox.captured_mail add column environment text not null default 'live';
