-- So that lists need not read what is large, nor a query more than fits into memory. Both are written with the body;
-- rows of older processes have neither, and their readers go by the body.
alter table vault.contents
  -- The body without html, text and attachments; absent for replies, which are small.
  add column head json,
  -- Of the body, as JSON.
  add column size_bytes integer;
