import type { Pool } from 'pg';
import { createBatcher, fulfilled } from '../../async/batcher.ts';
import {
  type CapturedMail,
  INBOX_BYTES_MAX,
  INBOX_MAILS_MAX,
  INBOX_PAGE_BYTES_MAX,
  type Inbox,
  type InboxFilter,
  type InboxPage,
  type ReceivedMail,
} from '../../domain/ports/inbox.ts';
import { orUnavailable } from '../postgres/pool.ts';
import { capturedMail, HEAD_BYTES_MAX, hasPart, type StoredMail, subjectOf } from './captured-mail.ts';

/** Of one insert: one larger message goes alone. More costs memory twice, less costs commits. */
const INSERT_MAILS_MAX = 500;
const INSERT_BYTES_MAX = 8_000_000;
/** What waits is memory; refused senders are told to come again. */
const WAITING_MAILS_MAX = 10_000;
const WAITING_BYTES_MAX = 128_000_000;
/** Between two trims: rarer leaves more than was promised for a while, more often costs a scan of the table each. */
const TRIM_AFTER_MAILS = 1000;
const TRIM_AFTER_BYTES = 25_000_000;

/** The messages travel as one parameter in binary; as an array they would be turned into hexadecimal text. */
const INSERT = {
  name: 'inbox-insert',
  text: `
    insert into inbox.captured_mail (received_at, envelope_from, envelope_to, size_bytes, environment, raw)
    select mail.received_at, mail.envelope_from, mail.envelope_to, mail.size_bytes, mail.environment,
           substring($7::bytea from mail.start for mail.size_bytes)
      from unnest($1::timestamptz[], $2::text[], $3::jsonb[], $4::integer[], $5::integer[], $6::text[]) with ordinality
           as mail (received_at, envelope_from, envelope_to, size_bytes, start, environment, place)
     order by mail.place`,
};

const TRIM = {
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

/** What is trimmed is given back at once: under load the server's own vacuum comes too late for a table that small. */
const VACUUM = 'vacuum (skip_locked) inbox.captured_mail';

/** `$1` an id, `$2` a recipient, `$3` the senders' domains, `$4` an environment; null: any. */
const MATCHES = `
  ($1::bigint is null or id = $1)
  and ($2::text is null or exists (
    select from jsonb_array_elements_text(envelope_to) as one (address) where lower(one.address) = lower($2)))
  and ($3::text[] is null or lower(split_part(envelope_from, '@', -1)) = any ($3))
  and ($4::text is null or environment = $4)`;

/** `$5`: of these alone; null: of all. */
const AMONG = '($5::bigint[] is null or id = any ($5))';

const HEADS = {
  name: 'inbox-heads',
  text: `
    select id, substring(raw from 1 for ${HEAD_BYTES_MAX}) as head from inbox.captured_mail
     where ${MATCHES} and id < $5 order by id desc limit 100`,
};

const REMOVE = {
  name: 'inbox-remove',
  text: `delete from inbox.captured_mail where ${MATCHES} and ${AMONG}`,
};

const LIST = {
  name: 'inbox-list-filtered',
  text: `
    select id, received_at, envelope_from, envelope_to, raw, candidates
      from (select page.*,
                   row_number() over newest as place,
                   sum(size_bytes) over newest - size_bytes as bytes_before,
                   count(*) over () as candidates
              from (select * from inbox.captured_mail
                     where id < $6 and ${MATCHES} and ${AMONG}
                     order by id desc limit $7 + 1) page
            window newest as (order by id desc)) counted
     where place <= $7 and bytes_before < $8
     order by id desc`,
};

/** The largest there is: before it stands everything. */
const NEWEST = '9223372036854775807';
const ID = /^\d{1,18}$/;

interface Row {
  readonly id: string;
  readonly received_at: Date;
  readonly envelope_from: string;
  readonly envelope_to: readonly string[];
  readonly raw: Buffer;
  readonly candidates: string;
}

/** The first always; then as many as fit, in order. */
const admission = (): ((mail: ReceivedMail) => boolean) => {
  let mails = 0;
  let bytes = 0;
  return ({ raw }) => {
    mails += 1;
    bytes += raw.length;
    return mails === 1 || (mails <= INSERT_MAILS_MAX && bytes <= INSERT_BYTES_MAX);
  };
};

const insertValues = (mails: readonly ReceivedMail[]): readonly unknown[] => {
  let start = 1;
  const starts = mails.map(({ raw }) => {
    const own = start;
    start += raw.length;
    return own;
  });
  return [
    mails.map(({ receivedAt }) => receivedAt),
    mails.map(({ from }) => from),
    mails.map(({ to }) => JSON.stringify(to)),
    mails.map(({ raw }) => raw.length),
    starts,
    mails.map(({ environment }) => environment),
    Buffer.concat(mails.map(({ raw }) => raw)),
  ];
};

const storedMail = ({ id, received_at, envelope_from, envelope_to, raw }: Row): StoredMail => ({
  id,
  receivedAt: received_at,
  from: envelope_from,
  to: envelope_to,
  raw,
});

interface Beginning {
  readonly id: string;
  readonly head: Buffer;
}

const idsWith = async (subject: string, rows: readonly Beginning[]): Promise<readonly string[]> => {
  const ids: string[] = [];
  for (const { id, head } of rows) if (hasPart(await subjectOf(head), subject)) ids.push(id);
  return ids;
};

/** The last row's place, where the page left candidates out. */
const nextOf = (rows: readonly Row[]): string | null =>
  rows.length === Number(rows[0]?.candidates ?? 0) ? null : (rows.at(-1)?.id ?? null);

/** An inbox in PostgreSQL. Mail that arrives while an insert runs shares the next one. */
export const createPostgresInbox = ({ pool }: { readonly pool: Pool }): Inbox => {
  let untrimmedMails = 0;
  let untrimmedBytes = 0;
  /** Resolves when all that was given so far is stored or refused. */
  let storing = Promise.resolve();

  const insert = async (mails: readonly ReceivedMail[]): Promise<void> => {
    await orUnavailable(pool.query({ ...INSERT, values: [...insertValues(mails)] }));
    untrimmedMails += mails.length;
    untrimmedBytes += mails.reduce((sum, { raw }) => sum + raw.length, 0);
  };

  const trim = async (): Promise<void> => {
    untrimmedMails = 0;
    untrimmedBytes = 0;
    const { rowCount } = await orUnavailable(pool.query({ ...TRIM, values: [INBOX_MAILS_MAX, INBOX_BYTES_MAX] }));
    if (rowCount !== 0) await orUnavailable(pool.query(VACUUM));
  };

  const isTrimDue = (): boolean => untrimmedMails >= TRIM_AFTER_MAILS || untrimmedBytes >= TRIM_AFTER_BYTES;

  const inserts = createBatcher<ReceivedMail, void>({
    name: 'the inbox',
    inFlightMax: 1,
    waitingMax: WAITING_MAILS_MAX,
    waitingBytesMax: WAITING_BYTES_MAX,
    bytesOf: ({ raw }) => raw.length,
    admission,
    run: async (mails) => {
      // A trim that fails rejects nobody: the next one does its work.
      if (isTrimDue()) await trim().catch(() => {});
      await insert(mails);
      return fulfilled(mails.map(() => undefined));
    },
  });

  const valuesOf = ({ id, to, fromDomains, environment }: InboxFilter): readonly unknown[] => [
    id ?? null,
    to ?? null,
    fromDomains ?? null,
    environment ?? null,
  ];

  const beginnings = async (filter: InboxFilter, before: string): Promise<readonly Beginning[]> =>
    (await orUnavailable(pool.query<Beginning>({ ...HEADS, values: [...valuesOf(filter), before] }))).rows;

  /** Subjects are in the messages alone: these are looked through, of which there are `INBOX_MAILS_MAX` at most. */
  const withSubject = async (filter: InboxFilter, subject: string): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (let before: string | undefined = NEWEST; before !== undefined; ) {
      const rows: readonly Beginning[] = await beginnings(filter, before);
      ids.push(...(await idsWith(subject, rows)));
      before = rows.at(-1)?.id;
    }
    return ids;
  };

  /** The parameters of `MATCHES` and `AMONG`; null: there can be none. */
  const selection = async (filter: InboxFilter): Promise<readonly unknown[] | null> => {
    if (filter.id !== undefined && !ID.test(filter.id)) return null;
    if (untrimmedMails > 0) await trim();
    const among = filter.subject === undefined ? null : await withSubject(filter, filter.subject);
    return [...valuesOf(filter), among];
  };

  const page = async (limit: number, before: string, filter: InboxFilter): Promise<InboxPage> => {
    const selected = await selection(filter);
    if (selected === null) return { mails: [], next: null };
    const { rows } = await orUnavailable(
      pool.query<Row>({ ...LIST, values: [...selected, before, limit, INBOX_PAGE_BYTES_MAX] }),
    );
    const mails: CapturedMail[] = [];
    for (const row of rows) mails.push(await capturedMail(storedMail(row)));
    return { mails, next: nextOf(rows) };
  };

  return {
    store: (mail) => {
      const [stored, before] = [inserts.add(mail), storing];
      storing = stored.catch(() => {}).then(() => before);
      return stored;
    },
    list: async ({ limit, after, ...filter }) => {
      if (after === undefined) return await page(limit, NEWEST, filter);
      return ID.test(after) ? await page(limit, after, filter) : { mails: [], next: null };
    },
    remove: async (filter) => {
      const selected = await selection(filter);
      if (selected === null) return 0;
      return (await orUnavailable(pool.query({ ...REMOVE, values: [...selected] }))).rowCount ?? 0;
    },
    close: async () => {
      await storing;
      await inserts.close();
    },
  };
};
