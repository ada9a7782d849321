import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { z } from 'zod';
import type { explanationSchema } from '../../http/resources/messages/explain.ts';
import type { SerializedListedMessage, SerializedMessage } from '../../http/resources/messages/message.ts';
import { type Invocation, optional, optionalCount, type Result, repeated, type ServiceCommand } from '../command.ts';
import { CommandFailed, printable, printableLine, readStdin, table, UsageError } from '../terminal.ts';
import { eventLine } from './listen.ts';
import { nameIn, noteNext, withIds } from './resource-commands.ts';
import { type ResentMessage, resentText } from './result-texts.ts';
import type { Answer, RequestOptions, Service } from './service.ts';

/** Sends one message. The service validates it and names the invalid fields. */

/** Larger than any body or attachment that the service accepts. */
const FILE_BYTES_MAX = 40_000_000;
const STDIN = '-';

const tooLarge = (path: string): CommandFailed => new CommandFailed(`${path} is larger than ${FILE_BYTES_MAX} bytes`);

/** Reads a pipe, whose size is unknown in advance. */
const bytesOf = async (file: FileHandle, path: string): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > FILE_BYTES_MAX) throw tooLarge(path);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const readFileOf = async (path: string): Promise<Buffer> => {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`${path} cannot be read (${error.code ?? 'unknown'})`);
  });
  try {
    const stats = await file.stat();
    // Process substitution, `<(…)`, passes a pipe.
    if (!stats.isFile() && !stats.isFIFO()) throw new CommandFailed(`${path} is not a file`);
    if (stats.size > FILE_BYTES_MAX) throw tooLarge(path);
    return stats.isFile() ? await file.readFile() : await bytesOf(file, path);
  } finally {
    await file.close();
  }
};

/** @throws {CommandFailed} if the file is not UTF-8: decoding it would change the text that is sent. */
export const textIn = async (path: string): Promise<string> => {
  const bytes = path === STDIN ? await readStdin() : await readFileOf(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CommandFailed(`${path === STDIN ? 'standard input' : path} is not UTF-8`);
  }
};

const jsonIn = async (path: string, option: string): Promise<Readonly<Record<string, unknown>>> => {
  const text = await textIn(path);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // reported below
  }
  throw new CommandFailed(`--${option}: ${path === STDIN ? 'standard input' : path} is not a JSON object`);
};

/** Splits `name:value`. The service validates both. */
const tagOf = (text: string) => {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError(`--tag ${text}: expected name:value`);
  return { name: text.slice(0, colon), value: text.slice(colon + 1) };
};

const attachmentOf = async (path: string) => ({
  filename: basename(path),
  content: (await readFileOf(path)).toString('base64'),
});

const templateOf = async (invocation: Invocation) => {
  const id = optional(invocation, 'template');
  const variables = optional(invocation, 'variables');
  if (id === undefined) return undefined;
  return { id, ...(variables === undefined ? {} : { variables: await jsonIn(variables, 'variables') }) };
};

/** Only one option can read standard input. @throws {UsageError} */
const requireOneStdin = (invocation: Invocation): void => {
  const taking = ['body', 'html', 'text', 'variables'].filter((name) => optional(invocation, name) === STDIN);
  if (taking.length > 1) throw new UsageError(`only one of ${taking.map((name) => `--${name}`).join(', ')} can be -`);
};

/** Builds the request body. */
const bodyOf = async (invocation: Invocation): Promise<object> => {
  requireOneStdin(invocation);
  const [body, html, text] = ['body', 'html', 'text'].map((name) => optional(invocation, name));
  const list = (name: string): readonly string[] | undefined => repeated(invocation, name);
  const given = {
    from: optional(invocation, 'from'),
    to: list('to'),
    cc: list('cc'),
    bcc: list('bcc'),
    reply_to: list('reply-to'),
    subject: optional(invocation, 'subject'),
    html: html === undefined ? undefined : await textIn(html),
    text: text === undefined ? undefined : await textIn(text),
    template: await templateOf(invocation),
    attachments: list('attach') && (await Promise.all((list('attach') ?? []).map(attachmentOf))),
    tags: list('tag')?.map(tagOf),
    stream: optional(invocation, 'stream'),
    scheduled_at: optional(invocation, 'at'),
  };
  const fields = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...(body === undefined ? {} : await jsonIn(body, 'body')), ...Object.fromEntries(fields) };
};

/** Describes the next step, if the key is allowed to read it. */
const nextOf = async ({ ask }: Service, id: string): Promise<string> => {
  const path = `/v1/messages/${id}/explain`;
  const explained = await ask<{ summary: string }>('GET', path).catch(() => undefined);
  return explained?.body.summary ?? `\`run \`outbox messages explain ${id}\` with a key that has the permission read`;
};

interface SendResponse {
  readonly id: string;
  readonly status: string;
}

export const sendCommand: ServiceCommand = {
  name: 'send',
  usage:
    '[--from ADDRESS] [--to ADDRESS,…] [--cc ADDRESS,…] [--bcc ADDRESS,…] [--reply-to ADDRESS,…] [--subject TEXT] [--html FILE|-] [--text FILE|-] [--template ALIAS] [--variables FILE|-] [--attach FILE,…] [--tag NAME:VALUE,…] [--stream transactional|bulk] [--at TIME] [--body FILE|-] [--idempotency-key KEY]',
  summary:
    'sends a message; - reads standard input, --body accepts the JSON of POST /v1/messages/send; repeat an option for each value',
  needs: 'service',
  run: async (service, invocation, { json }) => {
    const idempotencyKey = optional(invocation, 'idempotency-key') ?? randomUUID();
    const body = await bodyOf(invocation);
    const { body: sent } = await service.ask<SendResponse>('POST', '/v1/messages/send', { body, idempotencyKey });
    return json ? { ...sent } : { id: sent.id, status: sent.status, next: await nextOf(service, sent.id) };
  },
};

/** Commands that show messages. */

const PAGE = 100;
const LISTED_DEFAULT = 25;
const LISTED_MAX = 10_000;

/** Filters of `GET /v1/messages` by option name. */
const FILTERS: Readonly<Record<string, string>> = {
  status: 'status',
  outcome: 'outcome',
  'outcome-since': 'outcome_since',
  'outcome-until': 'outcome_until',
  to: 'to',
  from: 'from',
  subject: 'subject',
  tag: 'tag',
  domain: 'domain_id',
  key: 'key_id',
  template: 'template_id',
  'recipient-domain': 'recipient_domain',
  'smtp-code': 'smtp_code',
  since: 'since',
  until: 'until',
};

interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

const filtersOf = (invocation: Invocation): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(FILTERS).map(([option, filter]) => [filter, optional(invocation, option)]));

const listed = async (
  service: Service,
  invocation: Invocation,
): Promise<{ readonly found: readonly SerializedListedMessage[]; readonly next: string | null }> => {
  const limit = Math.min(optionalCount(invocation, 'limit') ?? LISTED_DEFAULT, LISTED_MAX);
  const found: SerializedListedMessage[] = [];
  const filters = await withIds(service, filtersOf(invocation));
  let after = optional(invocation, 'after') ?? null;
  do {
    const query: RequestOptions['query'] = {
      ...filters,
      limit: Math.min(PAGE, limit - found.length),
      after: after ?? undefined,
    };
    const { body }: Answer<Page<SerializedListedMessage>> = await service.ask('GET', '/v1/messages', { query });
    found.push(...body.data);
    after = body.has_more ? body.next_cursor : null;
  } while (after !== null && found.length < limit);
  return { found, next: after };
};

const addressedTo = ({ recipients }: SerializedListedMessage): string => {
  const [first] = recipients;
  const others = recipients.length > 1 ? ` +${recipients.length - 1}` : '';
  return `${first?.address ?? '(erased)'}${others}`;
};

/** `partly delivered, 40 of 50`: the status `delivered` alone would hide that a recipient does not have it. */
const statusText = ({
  status,
  partial,
  recipients,
}: Pick<SerializedListedMessage | SerializedMessage, 'status' | 'partial' | 'recipients'>): string => {
  if (!partial) return status;
  const delivered = recipients.filter((recipient) => recipient.status === 'delivered').length;
  return `partly delivered, ${delivered} of ${recipients.length}`;
};

const listText = (found: readonly SerializedListedMessage[], columns: number): string => {
  if (found.length === 0) return 'no messages';
  const rows = found.map((each) => [each.id, each.created_at, statusText(each), addressedTo(each), each.subject]);
  return table(['ID', 'ACCEPTED', 'STATUS', 'TO', 'SUBJECT'], rows, columns);
};

export const listMessagesCommand: ServiceCommand = {
  name: 'messages list',
  usage: `${Object.keys(FILTERS)
    .map((option) => `[--${option} ${/since$|until$/.test(option) ? 'TIME' : 'VALUE'}]`)
    .join(' ')} [--limit N] [--after CURSOR]`,
  summary: 'lists messages, newest first, with the filters of GET /v1/messages',
  needs: 'service',
  run: async (service, invocation, terminal) => {
    const { found, next } = await listed(service, invocation);
    noteNext(terminal, { next, hasMore: true });
    if (terminal.json) return [...found];
    process.stdout.write(`${listText(found, terminal.columns)}\n`);
    return undefined;
  },
};

const repliedWith = (smtp: SerializedMessage['recipients'][number]['smtp']): string =>
  smtp === null ? '' : ` ${[smtp.code || null, smtp.enhanced, smtp.text].filter((part) => part !== null).join(' ')}`;

const messageText = (message: SerializedMessage): string => {
  const facts = [
    ['id', message.id],
    ['status', statusText(message)],
    ['environment', message.environment],
    ['accepted', message.created_at],
    ['scheduled', message.scheduled_at],
    ['from', message.from],
    ['subject', message.subject],
    ['tags', message.tags.map(({ name, value }) => `${name}:${value}`).join(', ')],
    ['attempts', String(message.attempts)],
  ].filter(([, value]) => value !== null && value !== '');
  const recipients = message.recipients.map(
    ({ kind, address, status, smtp, next_attempt_at: next }) =>
      `  ${kind} ${address ?? '(erased)'}: ${status}${repliedWith(smtp)}${next === null ? '' : `, next try ${next}`}`,
  );
  return [
    ...facts.map(([name, value]) => printableLine(`${name}: ${value}`)),
    'recipients:',
    ...recipients.map((line) => `  ${printableLine(line).trimStart()}`),
  ].join('\n');
};

const isObject = (result: Result): boolean => !Array.isArray(result);

export const showMessageCommand: ServiceCommand = {
  name: 'messages show',
  usage: 'MSG_ID',
  summary: 'shows a message and the status of each recipient',
  needs: 'service',
  textOf: (result) => (isObject(result) ? messageText(result as unknown as SerializedMessage) : ''),
  run: async ({ ask }, invocation) =>
    (await ask<SerializedMessage>('GET', `/v1/messages/${nameIn(invocation, 'message: MSG_ID')}`)).body,
};

type Explanation = z.infer<typeof explanationSchema>;

const explanationText = ({ summary, waiting_because, steps, left_out }: Explanation): string =>
  [
    summary,
    ...(waiting_because.length > 0 ? ['', 'Why it waits:'] : []),
    ...waiting_because.map(({ sentence }) => `  ${sentence}`),
    ...(steps.length > 0 ? ['', 'What happened:'] : []),
    ...steps.map(({ at, sentence }) => `  ${at}  ${sentence}`),
    ...(left_out === null ? [] : [left_out]),
  ]
    .map(printableLine)
    .join('\n');

export const explainMessageCommand: ServiceCommand = {
  name: 'messages explain',
  usage: 'MSG_ID',
  summary: 'explains what happened to a message, and why it waits or did not arrive',
  needs: 'service',
  textOf: (result) => explanationText(result as unknown as Explanation),
  run: async ({ ask }, invocation) =>
    (await ask<Explanation>('GET', `/v1/messages/${nameIn(invocation, 'message: MSG_ID')}/explain`)).body,
};

export const resendMessageCommand: ServiceCommand = {
  name: 'messages resend',
  usage: 'MSG_ID [--recipients RCP_ID,…] [--skip-suppressed]',
  summary: 'sends a message again, once, to recipients that it did not reach',
  needs: 'service',
  textOf: resentText,
  run: async ({ ask }, invocation) => {
    const path = `/v1/messages/${nameIn(invocation, 'message: MSG_ID')}/resend`;
    const body = {
      recipient_ids: repeated(invocation, 'recipients'),
      skip_suppressed: invocation.values['skip-suppressed'] === true,
    };
    return { ...(await ask<ResentMessage>('POST', path, { body })).body };
  },
};

/** Options that both `tail` commands share, and the filters of `GET /v1/events` they set. */
const TAIL_FILTERS: Readonly<Record<string, string>> = {
  types: 'types',
  message: 'message_id',
  domain: 'domain_id',
  tag: 'tag',
  'recipient-domain': 'recipient_domain',
};

const tailCommand = (
  described: Pick<ServiceCommand, 'name' | 'summary'>,
  types: string | undefined,
  options: readonly string[],
): ServiceCommand => ({
  ...described,
  usage: `${options.map((option) => `[--${option} VALUE]`).join(' ')} [--after CURSOR|start] [--limit N]`,
  needs: 'service',
  run: async (service, invocation, terminal) => {
    const limit = optionalCount(invocation, 'limit') ?? Number.POSITIVE_INFINITY;
    const filters = options.map((option) => [TAIL_FILTERS[option], optional(invocation, option)]);
    const given = Object.fromEntries(filters.filter(([, value]) => value !== undefined));
    const query = { types, ...(await withIds(service, given)) };
    let shown = 0;
    let reached: string | undefined;
    for await (const { cursor, event } of service.events(query, optional(invocation, 'after'))) {
      terminal.print({ ...event, cursor }, () => printable(eventLine(event)));
      reached = cursor;
      shown += 1;
      if (shown >= limit) break;
    }
    if (reached !== undefined) terminal.note(`to continue from here: --after ${reached}`);
    return undefined;
  },
});

export const tailMessagesCommand = tailCommand(
  {
    name: 'messages tail',
    summary: 'shows message events as they happen, until Ctrl-C; --json prints one object per line, with its cursor',
  },
  'message.*',
  ['message', 'domain', 'tag', 'recipient-domain'],
);

export const tailEventsCommand = tailCommand(
  {
    name: 'events tail',
    summary: 'shows events as they happen, until Ctrl-C; --json prints one object per line, with its cursor',
  },
  undefined,
  ['types', 'message', 'domain', 'tag', 'recipient-domain'],
);
