import { INBOX_MAILS_MAX } from '../../domain/ports/mail.ts';

/** Statements of the inbox. */

/** The messages are one binary parameter. As an array they would be converted to hexadecimal text. */
export const INSERT = {
  name: 'inbox-insert',
  text: `
    insert into inbox.captured_mail
      (received_at, envelope_from, envelope_to, size_bytes, environment, subject, attachments, confidential, raw)
    select mail.received_at, mail.envelope_from, mail.envelope_to, mail.size_bytes, mail.environment,
           mail.subject, mail.attachments, mail.confidential, substring($10::bytea from mail.start for mail.size_bytes)
      from unnest($1::timestamptz[], $2::text[], $3::jsonb[], $4::integer[], $5::integer[], $6::text[],
                  $7::text[], $8::jsonb[], $9::boolean[]) with ordinality
           as mail (received_at, envelope_from, envelope_to, size_bytes, start, environment,
                    subject, attachments, confidential, place)
     order by mail.place`,
};

export const TRIM = {
  name: 'inbox-trim',
  text: `
    delete from inbox.captured_mail
     where id <= (
       select max(id)
         from (select id, row_number() over newest as place, sum(size_bytes) over newest as bytes
                 from inbox.captured_mail
               window newest as (order by id desc)) counted
        where place > $1 or bytes > $2)`,
};

/** Frees trimmed space at once: under load the server's own vacuum comes too late for such a small table. */
export const VACUUM = 'vacuum (skip_locked) inbox.captured_mail';

/** `$1` an id, `$2` a recipient, `$3` the senders' domains, `$4` an environment; null: any. */
const MATCHES = `
  ($1::bigint is null or id = $1)
  and ($2::text is null or exists (
    select from jsonb_array_elements_text(envelope_to) as one (address) where lower(one.address) = lower($2)))
  and ($3::text[] is null or lower(split_part(envelope_from, '@', -1)) = any ($3))
  and ($4::text is null or environment = $4)`;

/** `$5`: only these ids; null: all. */
const AMONG = '($5::bigint[] is null or id = any ($5))';

export const SUBJECTS = {
  name: 'inbox-subjects',
  text: `
    select id, subject from inbox.captured_mail
     where ${MATCHES} and subject is not null order by id desc limit ${INBOX_MAILS_MAX}`,
};

export const REMOVE = {
  name: 'inbox-remove',
  text: `delete from inbox.captured_mail where ${MATCHES} and ${AMONG}`,
};

export const LIST = {
  name: 'inbox-list',
  text: `
    select id, received_at, envelope_from, envelope_to, subject, size_bytes, attachments, confidential
      from inbox.captured_mail
     where id < $6 and ${MATCHES} and ${AMONG}
     order by id desc limit $7 + 1`,
};

/** Raw bytes read at a time. More blocks the event loop (2 ms at this size), less queries the database more often. */
export const SLICE_BYTES = 512_000;

/** Large values are stored uncompressed, so that PostgreSQL reads only the requested part. */
export const SLICE = {
  name: 'inbox-slice',
  text: `select substring(raw from $2 for ${SLICE_BYTES}) as slice from inbox.captured_mail where id = $1`,
};
