import type { Pool } from 'pg';
import {
  type CapturedAttachment,
  type CapturedContent,
  type CapturedMail,
  INBOX_BYTES_MAX,
  INBOX_MAILS_MAX,
  type Inbox,
  type InboxFilter,
  type InboxPage,
  type ReceivedMail,
} from '../../domain/ports/mail.ts';
import {
  createBatcher,
  createSemaphore,
  createWorkerThreads,
  fulfilled,
  TaskTooLong,
  ThreadUnavailable,
} from '../../lib/async/async.ts';
import { domainOf, MailParserUnavailable } from '../../lib/mime/mime.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';
import { type MailOutline, type Reading, type ReadResult, readMail } from './captured-mail.ts';

/**
 * Maximum size for inline reading, which takes 1 ms. Larger messages go to a thread, so that the event loop never
 * waits.
 */
const INLINE_BYTES_MAX = 10_000;
/** 25 MB take 0.4 s. Shorter rejects good mail, longer blocks the thread for other organizations. */
const RUN_MS_MAX = 5_000;
/** Shorter fails while large mail is captured, longer outlives the time limit of requests. */
const WAIT_MS_MAX = 10_000;
/** Queued messages, each in memory. Fewer reject readers, more use memory without being faster. */
const WAITING_MAX = 50;
const THREADS = 1;

interface MailReader {
  /** @param owner owners with waiting work take turns. @throws {MailParserUnavailable} */
  outline(raw: Uint8Array, owner: string): Promise<MailOutline>;
  content(raw: Uint8Array, owner: string): Promise<CapturedContent>;
  attachment(raw: Uint8Array, place: number, owner: string): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

const asUnavailable = (error: unknown): never => {
  if (error instanceof TaskTooLong || error instanceof ThreadUnavailable)
    throw new MailParserUnavailable(`captured mail was not read: ${error.message}`);
  throw error;
};

const sharedCopy = (raw: Uint8Array): SharedArrayBuffer => {
  const shared = new SharedArrayBuffer(raw.length);
  new Uint8Array(shared).set(raw);
  return shared;
};

export const createMailReader = (): MailReader => {
  const threads = createWorkerThreads<{ readonly shared: SharedArrayBuffer; readonly reading: Reading }, ReadResult>({
    entry: new URL('./read-mail-thread.ts', import.meta.url),
    threads: THREADS,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });

  const read = async (raw: Uint8Array, reading: Reading, owner: string): Promise<ReadResult> => {
    if (raw.length <= INLINE_BYTES_MAX) return readMail(Buffer.from(raw), reading);
    const shared = raw.buffer instanceof SharedArrayBuffer ? raw.buffer : sharedCopy(raw);
    return await threads.run({ shared, reading }, owner).catch(asUnavailable);
  };

  return {
    // The kind of a reading determines its result.
    outline: async (raw, owner) => (await read(raw, { kind: 'outline' }, owner)) as MailOutline,
    content: async (raw, owner) => (await read(raw, { kind: 'content' }, owner)) as CapturedContent,
    attachment: async (raw, place, owner) =>
      (await read(raw, { kind: 'attachment', place }, owner)) as Uint8Array | null,
    close: threads.close,
  };
};

/** Statements of the inbox. */

/** The messages are one binary parameter. As an array they would be converted to hexadecimal text. */
const INSERT = {
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

/**
 * Organization of a mail, by the verified domain of its sender: registering another's name must not move its mail. Mail of
 * other senders, such as deleted domains, belongs to the domain itself.
 */
const OWNER = `coalesce(domains.organization_id, lower(split_part(mail.envelope_from, '@', -1)))`;

/**
 * Every organization keeps its newest mail, up to the same share of the inbox, so that a flood of one drops only its own.
 * The rest of a share that is not used is free for others: a lone organization has the whole inbox.
 */
const TRIM = {
  name: 'inbox-trim',
  text: `
    delete from inbox.captured_mail
     where id in (
       select id
         from (select id, row_number() over fair as place, sum(size_bytes) over fair as bytes
                 from (select mail.id, mail.size_bytes,
                              greatest(row_number() over newest / $1::float8,
                                       sum(mail.size_bytes) over newest / $2::float8) as share
                         from inbox.captured_mail mail
                         left join (select lower(state->>'name') as name, min(organization_id) as organization_id
                                      from read_models.domains where state->>'verification' is not null group by 1
                              ) domains on domains.name = lower(split_part(mail.envelope_from, '@', -1))
                       window newest as (partition by ${OWNER} order by mail.id desc)) shares
               window fair as (order by share, id desc)) counted
        where place > $1 or bytes > $2)`,
};

/** Frees trimmed space at once: under load the server's own vacuum comes too late for such a small table. */
const VACUUM = 'vacuum (skip_locked) inbox.captured_mail';

/** `$1` an id, `$2` a recipient, `$3` the senders' domains, `$4` an environment; null: any. */
const MATCHES = `
  ($1::bigint is null or id = $1)
  and ($2::text is null or exists (
    select from jsonb_array_elements_text(envelope_to) as one (address) where lower(one.address) = lower($2)))
  and ($3::text[] is null or lower(split_part(envelope_from, '@', -1)) = any ($3))
  and ($4::text is null or environment = $4)`;

/** `$5`: only these ids; null: all. */
const AMONG = '($5::bigint[] is null or id = any ($5))';

const SUBJECTS = {
  name: 'inbox-subjects',
  text: `
    select id, subject from inbox.captured_mail
     where ${MATCHES} and subject is not null order by id desc limit ${INBOX_MAILS_MAX}`,
};

const REMOVE = {
  name: 'inbox-remove',
  text: `delete from inbox.captured_mail where ${MATCHES} and ${AMONG}`,
};

const LIST = {
  name: 'inbox-list',
  text: `
    select id, received_at, envelope_from, envelope_to, subject, size_bytes, attachments, confidential
      from inbox.captured_mail
     where id < $6 and ${MATCHES} and ${AMONG}
     order by id desc limit $7 + 1`,
};

/** Raw bytes read at a time. More blocks the event loop (2 ms at this size), less queries the database more often. */
const SLICE_BYTES = 512_000;

/** Large values are stored uncompressed, so that PostgreSQL reads only the requested part. */
const SLICE = {
  name: 'inbox-slice',
  text: `select substring(raw from $2 for ${SLICE_BYTES}) as slice from inbox.captured_mail where id = $1`,
};

/** Messages in one insert; a larger message goes alone. More costs memory twice, less costs commits. */
const INSERT_MAILS_MAX = 500;
const INSERT_BYTES_MAX = 8_000_000;
/** Memory of queued messages. Rejected senders are asked to retry. */
const WAITING_MAILS_MAX = 10_000;
const WAITING_BYTES_MAX = 128_000_000;
/**
 * Interval between trims. Longer exceeds the promised size for a while, shorter costs a scan of the table each time.
 */
const TRIM_AFTER_MAILS = 1000;
const TRIM_AFTER_BYTES = 25_000_000;

/** The largest possible id. */
const NEWEST = '9223372036854775807';
const ID = /^\d{1,18}$/;

interface Row {
  readonly id: string;
  readonly received_at: Date;
  readonly envelope_from: string;
  readonly envelope_to: readonly string[];
  readonly subject: string | null;
  readonly size_bytes: number;
  readonly attachments: readonly CapturedAttachment[];
  readonly confidential: boolean;
}

/** A message to insert. */
interface NewMail extends ReceivedMail {
  readonly outline: MailOutline;
}

/** Admits messages in order as long as they fit. The first always fits. */
const admission = (): ((mail: NewMail) => boolean) => {
  let mails = 0;
  let bytes = 0;
  return ({ raw }) => {
    mails += 1;
    bytes += raw.length;
    return mails === 1 || (mails <= INSERT_MAILS_MAX && bytes <= INSERT_BYTES_MAX);
  };
};

const insertValues = (mails: readonly NewMail[]): readonly unknown[] => {
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
    mails.map(({ outline }) => outline.subject),
    mails.map(({ outline }) => JSON.stringify(outline.attachments)),
    mails.map(({ outline }) => outline.isConfidential),
    Buffer.concat(mails.map(({ raw }) => raw)),
  ];
};

const capturedMail = (row: Row): CapturedMail => ({
  id: row.id,
  receivedAt: row.received_at,
  envelope: { from: row.envelope_from, to: row.envelope_to },
  subject: row.subject,
  sizeBytes: row.size_bytes,
  attachments: row.attachments,
  isConfidential: row.confidential,
});

/** True if a subject contains a part, ignoring case. */
const hasPart = (subject: string, part: string): boolean => subject.toLowerCase().includes(part.toLowerCase());

/** Stored if a message cannot be read in time. Its content is unknown, so only an owner may read it. */
const UNREAD: MailOutline = { subject: null, attachments: [], isConfidential: true };

/** Messages in memory while they are read. More need memory, fewer make readers wait for one another. */
const LOADED_MAX = 2;
/** Queued readers; organizations take turns. More would wait longer than clients do, fewer are rejected needlessly. */
const LOADING_WAITING_MAX = 20;
const LOADING_WAIT_MS_MAX = 10_000;

/** An inbox in PostgreSQL. Mail that arrives while an insert runs shares the next one. */
export const createPostgresInbox = ({ pool }: { readonly pool: Pool }): Inbox => {
  let untrimmedMails = 0;
  let untrimmedBytes = 0;
  const reader = createMailReader();
  const loads = createSemaphore({
    capacity: LOADED_MAX,
    waitingMax: LOADING_WAITING_MAX,
    busy: () => new MailParserUnavailable('too much captured mail is being read'),
    timeout: { ms: LOADING_WAIT_MS_MAX, error: () => new MailParserUnavailable('captured mail was not read in time') },
  });
  /** Resolves when all messages so far are stored or rejected. */
  let storing = Promise.resolve();

  const insert = async (mails: readonly NewMail[]): Promise<void> => {
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

  const inserts = createBatcher<NewMail, void>({
    name: 'the inbox',
    inFlightMax: 1,
    waitingMax: WAITING_MAILS_MAX,
    waitingBytesMax: WAITING_BYTES_MAX,
    bytesOf: ({ raw }) => raw.length,
    admission,
    run: async (mails) => {
      // A failed trim rejects no message: the next trim does its work.
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

  const withSubject = async (filter: InboxFilter, part: string): Promise<readonly string[]> => {
    const found = pool.query<{ id: string; subject: string }>({ ...SUBJECTS, values: [...valuesOf(filter)] });
    const { rows } = await orUnavailable(found);
    return rows.filter(({ subject }) => hasPart(subject, part)).map(({ id }) => id);
  };

  /** The parameters of `MATCHES` and `AMONG`; null: nothing can match. */
  const selection = async (filter: InboxFilter): Promise<readonly unknown[] | null> => {
    if (filter.id !== undefined && !ID.test(filter.id)) return null;
    if (untrimmedMails > 0) await trim();
    const among = filter.subject === undefined ? null : await withSubject(filter, filter.subject);
    return [...valuesOf(filter), among];
  };

  const page = async (limit: number, before: string, filter: InboxFilter): Promise<InboxPage> => {
    const selected = await selection(filter);
    if (selected === null) return { mails: [], next: null };
    const { rows } = await orUnavailable(pool.query<Row>({ ...LIST, values: [...selected, before, limit] }));
    const mails = rows.slice(0, limit).map(capturedMail);
    return { mails, next: rows.length > limit ? (mails.at(-1)?.id ?? null) : null };
  };

  /** The bytes from an offset on (1 is the first); null: the message is gone. */
  const sliceAt = async ({ id }: CapturedMail, start: number): Promise<Buffer | null> => {
    const { rows } = await orUnavailable(pool.query<{ slice: Buffer }>({ ...SLICE, values: [id, start] }));
    return rows[0]?.slice ?? null;
  };

  async function* source(mail: CapturedMail): AsyncGenerator<Buffer> {
    for (let start = 1; start === 1 || start <= mail.sizeBytes; start += SLICE_BYTES) {
      const slice = await sliceAt(mail, start);
      if (slice === null) throw new Error('the captured mail was deleted while it was read');
      yield slice;
    }
  }

  /** Loads a message into memory that a thread reads without another copy; null: the message is gone. */
  const load = async (mail: CapturedMail): Promise<Uint8Array | null> => {
    const bytes = new Uint8Array(new SharedArrayBuffer(mail.sizeBytes));
    for (let start = 1; start <= mail.sizeBytes; start += SLICE_BYTES) {
      const slice = await sliceAt(mail, start);
      if (slice === null) return null;
      bytes.set(slice, start - 1);
    }
    return bytes;
  };

  const withLoaded = <T>(mail: CapturedMail, owner: string, read: (raw: Uint8Array) => Promise<T>): Promise<T | null> =>
    loads.run(
      async () => {
        const raw = await load(mail);
        return raw === null ? null : await read(raw);
      },
      1,
      owner,
    );

  const outlineOf = ({ raw, from }: ReceivedMail): Promise<MailOutline> =>
    reader.outline(raw, domainOf(from)).catch((error: unknown) => {
      if (error instanceof MailParserUnavailable) return UNREAD;
      throw error;
    });

  const add = async (mail: ReceivedMail): Promise<void> => inserts.add({ ...mail, outline: await outlineOf(mail) });

  return {
    store: (mail) => {
      const [stored, before] = [add(mail), storing];
      storing = stored.catch(() => {}).then(() => before);
      return stored;
    },
    list: async ({ limit, after, ...filter }) => {
      if (after === undefined) return await page(limit, NEWEST, filter);
      return ID.test(after) ? await page(limit, after, filter) : { mails: [], next: null };
    },
    content: (mail, owner) => withLoaded(mail, owner, (raw) => reader.content(raw, owner)),
    source,
    attachment: (mail, place, owner) => withLoaded(mail, owner, (raw) => reader.attachment(raw, place, owner)),
    remove: async (filter) => {
      const selected = await selection(filter);
      if (selected === null) return 0;
      return (await orUnavailable(pool.query({ ...REMOVE, values: [...selected] }))).rowCount ?? 0;
    },
    close: async () => {
      await storing;
      await inserts.close();
      await reader.close();
    },
  };
};
