import type { z } from 'zod';
import type { explanationSchema } from '../../http/resources/messages/explain.ts';
import type { SerializedListedMessage, SerializedMessage } from '../../http/resources/messages/message.ts';
import { type Invocation, optional, optionalCount, type Result, type ServiceCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { printable, printableLine, table } from '../terminal.ts';
import { eventLine, followFeed } from './feed.ts';
import type { Answer, RequestOptions, Service } from './service.ts';

/** Commands that show messages. */

const PAGE = 100;
const LISTED_DEFAULT = 25;
const LISTED_MAX = 10_000;

/** Filters of `GET /v1/messages` by option name. */
const FILTERS: Readonly<Record<string, string>> = {
  status: 'status',
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

/** The single positional argument. @throws {UsageError} */
export const nameIn = ({ positionals }: Invocation, what: string): string => {
  const [name, ...more] = positionals;
  if (name === undefined || name === '' || more.length > 0) throw new UsageError(`name one ${what}`);
  return encodeURIComponent(name);
};

const filtersOf = (invocation: Invocation): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(FILTERS).map(([option, filter]) => [filter, optional(invocation, option)]));

const listed = async (
  { ask }: Service,
  invocation: Invocation,
): Promise<{ readonly found: readonly SerializedListedMessage[]; readonly next: string | null }> => {
  const limit = Math.min(optionalCount(invocation, 'limit') ?? LISTED_DEFAULT, LISTED_MAX);
  const found: SerializedListedMessage[] = [];
  let after = optional(invocation, 'after') ?? null;
  do {
    const query: RequestOptions['query'] = {
      ...filtersOf(invocation),
      limit: Math.min(PAGE, limit - found.length),
      after: after ?? undefined,
    };
    const { body }: Answer<Page<SerializedListedMessage>> = await ask('GET', '/v1/messages', { query });
    found.push(...body.data);
    after = body.has_more ? body.next_cursor : null;
  } while (after !== null && found.length < limit);
  return { found, next: after };
};

const addressedTo = ({ recipients }: SerializedListedMessage): string => {
  const [first] = recipients;
  const others = recipients.length > 1 ? ` +${recipients.length - 1}` : '';
  return `${first?.address ?? '(no longer kept)'}${others}`;
};

const listText = (found: readonly SerializedListedMessage[], columns: number): string => {
  if (found.length === 0) return 'no message';
  const rows = found.map((each) => [each.id, each.created_at, each.status, addressedTo(each), each.subject]);
  return table(['ID', 'ACCEPTED', 'STATUS', 'TO', 'SUBJECT'], rows, columns);
};

export const listMessagesCommand: ServiceCommand = {
  name: 'messages list',
  usage: `${Object.keys(FILTERS)
    .map((option) => `[--${option} ${option === 'since' || option === 'until' ? 'TIME' : 'VALUE'}]`)
    .join(' ')} [--limit N] [--after CURSOR]`,
  summary: 'lists messages, newest first; the filters are those of GET /v1/messages',
  needs: 'service',
  run: async (service, invocation, terminal) => {
    const { found, next } = await listed(service, invocation);
    if (terminal.json) return [...found];
    process.stdout.write(`${listText(found, terminal.columns)}\n`);
    if (next !== null) terminal.note(`there are more: --after ${next}`);
    return undefined;
  },
};

const repliedWith = (smtp: SerializedMessage['recipients'][number]['smtp']): string =>
  smtp === null ? '' : ` ${[smtp.code || null, smtp.enhanced, smtp.text].filter((part) => part !== null).join(' ')}`;

const messageText = (message: SerializedMessage): string => {
  const facts = [
    ['id', message.id],
    ['status', message.status],
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
      `  ${kind} ${address ?? '(no longer kept)'}: ${status}${repliedWith(smtp)}${next === null ? '' : `, next try ${next}`}`,
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
  summary: 'shows a message and what became of each recipient',
  needs: 'service',
  textOf: (result) => (isObject(result) ? messageText(result as unknown as SerializedMessage) : ''),
  run: async ({ ask }, invocation) =>
    (await ask<SerializedMessage>('GET', `/v1/messages/${nameIn(invocation, 'message: MSG_ID')}`)).body,
};

type Explanation = z.infer<typeof explanationSchema>;

const explanationText = ({ summary, waiting_because, steps, left_out }: Explanation): string =>
  [
    summary,
    ...(waiting_because.length > 0 ? ['', 'It waits:'] : []),
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
  summary: 'tells in sentences what happened to a message, and why it waits or did not arrive',
  needs: 'service',
  textOf: (result) => explanationText(result as unknown as Explanation),
  run: async ({ ask }, invocation) =>
    (await ask<Explanation>('GET', `/v1/messages/${nameIn(invocation, 'message: MSG_ID')}/explain`)).body,
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
    const query = { types, ...Object.fromEntries(filters.filter(([, value]) => value !== undefined)) };
    let shown = 0;
    let reached: string | undefined;
    for await (const { cursor, event } of followFeed(service, query, optional(invocation, 'after'))) {
      terminal.print({ ...event, cursor }, () => printable(eventLine(event)));
      reached = cursor;
      shown += 1;
      if (shown >= limit) break;
    }
    if (reached !== undefined) terminal.note(`to go on from here: --after ${reached}`);
    return undefined;
  },
});

export const tailMessagesCommand = tailCommand(
  {
    name: 'messages tail',
    summary:
      'shows what becomes of messages as it happens, until Ctrl-C; with --json an object a line, with its cursor',
  },
  'message.*',
  ['message', 'domain', 'tag', 'recipient-domain'],
);

export const tailEventsCommand = tailCommand(
  {
    name: 'events tail',
    summary: 'shows events as they happen, until Ctrl-C; with --json an object a line, with its cursor',
  },
  undefined,
  ['types', 'message', 'domain', 'tag', 'recipient-domain'],
);
