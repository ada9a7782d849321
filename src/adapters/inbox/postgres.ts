import type { Pool } from 'pg';
import {
  type CapturedMail,
  INBOX_BYTES_MAX,
  INBOX_MAILS_MAX,
  INBOX_PAGE_BYTES_MAX,
  type Inbox,
  type InboxPage,
  type ReceivedMail,
} from '../../domain/inbox.ts';
import { createGather } from '../gather.ts';
import { orUnavailable } from '../postgres/faults.ts';
import { capturedMail, type StoredMail } from './captured-mail.ts';

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
    insert into inbox.captured_mail (received_at, envelope_from, envelope_to, size_bytes, raw)
    select mail.received_at, mail.envelope_from, mail.envelope_to, mail.size_bytes,
           substring($6::bytea from mail.start for mail.size_bytes)
      from unnest($1::timestamptz[], $2::text[], $3::jsonb[], $4::integer[], $5::integer[]) with ordinality
           as mail (received_at, envelope_from, envelope_to, size_bytes, start, place)
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

const LIST = {
  name: 'inbox-list',
  text: `
    select id, received_at, envelope_from, envelope_to, raw, candidates
      from (select page.*,
                   row_number() over newest as place,
                   sum(size_bytes) over newest - size_bytes as bytes_before,
                   count(*) over () as candidates
              from (select * from inbox.captured_mail
                     where id < $1 and ($4::text[] is null or lower(split_part(envelope_from, '@', -1)) = any ($4))
                     order by id desc limit $2 + 1) page
            window newest as (order by id desc)) counted
     where place <= $2 and bytes_before < $3
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

/** The last row's place, where the page left candidates out. */
const nextOf = (rows: readonly Row[]): string | null =>
  rows.length === Number(rows[0]?.candidates ?? 0) ? null : (rows.at(-1)?.id ?? null);

/** An inbox in PostgreSQL. While one insert runs, the next gathers. */
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

  const gather = createGather<ReceivedMail, void>({
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
      return mails.map(() => ({ status: 'fulfilled', value: undefined }));
    },
  });

  const page = async (limit: number, before: string, fromDomains?: readonly string[]): Promise<InboxPage> => {
    if (untrimmedMails > 0) await trim();
    const { rows } = await orUnavailable(
      pool.query<Row>({ ...LIST, values: [before, limit, INBOX_PAGE_BYTES_MAX, fromDomains ?? null] }),
    );
    const mails: CapturedMail[] = [];
    for (const row of rows) mails.push(await capturedMail(storedMail(row)));
    return { mails, next: nextOf(rows) };
  };

  return {
    store: (mail) => {
      const [stored, before] = [gather.add(mail), storing];
      storing = stored.catch(() => {}).then(() => before);
      return stored;
    },
    list: async ({ limit, after, fromDomains }) => {
      if (after === undefined) return await page(limit, NEWEST, fromDomains);
      return ID.test(after) ? await page(limit, after, fromDomains) : { mails: [], next: null };
    },
    close: async () => {
      await storing;
      await gather.close();
    },
  };
};
