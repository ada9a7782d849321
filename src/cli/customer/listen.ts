import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { POST_HEADERS, signWebhook } from '../../domain/webhook/webhook.ts';
import { type Invocation, optional, optionalCount, required, type ServiceCommand } from '../command.ts';
import { CommandFailed, printableLine, type Terminal, UsageError } from '../terminal.ts';
import { keptSecret } from './profile.ts';
import { isRecord, type Service } from './service.ts';

/** Fields that all events share; `data` differs by type. */
interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: object;
}

const shown = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null;

/** Status code and text of an SMTP reply. */
const replyOf = (smtp: unknown): string | null =>
  isRecord(smtp) ? [smtp.code, smtp.enhanced, smtp.text].map(shown).filter(Boolean).join(' ') : null;

/**
 * Formats `2026-01-31T12:00:00.000Z message.delivered msg_… you@example.net 250 2.0.0 Ok`, without control characters.
 */
export const eventLine = ({ timestamp, type, id, data }: FeedEvent): string => {
  const [, about] = Object.entries(data).find(([name]) => name.endsWith('_id')) ?? [];
  const { recipient, smtp, reason } = data as Readonly<Record<string, unknown>>;
  const address = isRecord(recipient) ? shown(recipient.address) : null;
  const parts = [timestamp, type.padEnd(18), shown(about) ?? id, address, replyOf(smtp), shown(reason)];
  return printableLine(parts.filter((part) => part !== null && part !== '').join('  '));
};

/**
 * Forwards webhooks to a machine without a public address. Events from the feed are posted one at a time to the
 * developer's URL, signed like the service's own webhooks (docs/webhooks.md), and the responses are shown. Nothing is
 * retried automatically; on request an event is posted again under the same id.
 */

/** The service waits just as long for a response. */
const ANSWER_MS = 15_000;
const SECRET_BYTES = 24;
const SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;
const SECRET_FILE = 'webhook-secret';
/** Number of recent events kept for reposting. */
const REMEMBERED_MAX = 200;
const EVENT_ID = /^evt_[a-z2-7]{26}$/;
const OF_MESSAGE = /^\/v1\/messages\/msg_[a-z2-7]+\/events$/;
/** Maximum number of pages searched for an event that does not belong to a message. */
const PAGES_MAX = 100;
const PAGE = 100;
const REASON_CHARACTERS_MAX = 200;

const makeSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

/** `OUTBOX_WEBHOOK_SECRET`, or else a secret stored for this user. @throws {UsageError} */
const secretOf = async (): Promise<string> => {
  const { OUTBOX_WEBHOOK_SECRET: given = '' } = process.env;
  const secret = given === '' ? await keptSecret(SECRET_FILE, makeSecret) : given;
  if (SECRET.test(secret)) return secret;
  throw new UsageError('OUTBOX_WEBHOOK_SECRET must be whsec_ followed by 24 to 64 bytes in Base64');
};

const localUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError('--forward-to must be an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new UsageError('--forward-to must not contain a user or password');
  return url;
};

interface PostResult {
  readonly event: string;
  readonly type: string;
  /** HTTP status; null: no response. */
  readonly status: number | null;
  readonly duration_ms: number;
  readonly problem: string | null;
}

const problemOf = (error: unknown): string => {
  const { cause = error } = error as Error;
  if ((error as Error).name === 'TimeoutError') return `no response within ${ANSWER_MS / 1000} s`;
  const { code, message } = cause as NodeJS.ErrnoException;
  return (code ?? message).slice(0, REASON_CHARACTERS_MAX);
};

/** Makes the body of a post, as the service does. */
type BodyOf = (event: FeedEvent) => Promise<{ readonly content: string | Uint8Array; readonly contentType?: string }>;

interface Post {
  readonly url: URL;
  readonly secret: string;
  readonly bodyOf: BodyOf;
}

/** Posts an event once, in the service's format. */
const post = async ({ url, secret, bodyOf }: Post, event: FeedEvent, signal: AbortSignal): Promise<PostResult> => {
  const { content, contentType } = await bodyOf(event);
  const body = typeof content === 'string' ? content : new Uint8Array(content);
  const signed = signWebhook([secret], { id: event.id, at: new Date(), body });
  const startedMs = performance.now();
  const answered = (status: number | null, problem: string | null): PostResult => ({
    event: event.id,
    type: event.type,
    status,
    duration_ms: Math.round(performance.now() - startedMs),
    problem,
  });
  try {
    const until = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const type = contentType === undefined ? {} : { 'content-type': contentType };
    const headers = { ...POST_HEADERS, ...type, ...signed };
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: until });
    await response.body?.cancel();
    return answered(response.status, response.ok ? null : 'not a 2xx status: the service would retry');
  } catch (error) {
    return answered(null, problemOf(error));
  }
};

const lineOf = ({ event, type, status, duration_ms: duration, problem }: PostResult): string =>
  printableLine(`${status ?? '---'}  ${duration} ms  ${type}  ${event}${problem === null ? '' : `  ${problem}`}`);

interface Page {
  readonly data: readonly FeedEvent[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Searches a list page by page. */
const lookThrough = async (
  { ask }: Service,
  path: string,
  query: Readonly<Record<string, string>>,
  id: string,
): Promise<FeedEvent | undefined> => {
  let after = query.after;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const asked = after === undefined ? { ...query, limit: PAGE } : { ...query, after, limit: PAGE };
    const { body } = await ask<Page>('GET', path, { query: asked });
    const found = body.data.find((event) => event.id === id);
    if (found !== undefined || !body.has_more || body.next_cursor === null) return found;
    after = body.next_cursor;
  }
  return undefined;
};

interface Hits {
  readonly data: readonly { readonly type: string; readonly title: string; readonly path: string }[];
}

/** @throws {CommandFailed} if this key cannot read such an event. */
const findEvent = async (service: Service, id: string): Promise<FeedEvent> => {
  if (!EVENT_ID.test(id)) throw new UsageError(`'${id}' is not an event id (evt_…)`);
  const { body } = await service.ask<Hits>('GET', '/v1/search', { query: { q: id } });
  const hit = body.data.find(({ type }) => type === 'event');
  const ofMessage = OF_MESSAGE.test(hit?.path ?? '');
  const [path, query] = ofMessage ? [hit?.path ?? '', {}] : ['/v1/events', { types: hit?.title ?? '', after: 'start' }];
  const found = hit === undefined ? undefined : await lookThrough(service, path, query, id);
  if (found !== undefined) return found;
  throw new CommandFailed(`event ${id} not found, or this key may not read it`);
};

const MORE = 'type an event id to post it again, or press Enter for the last event; press Ctrl-C to stop';

/** Posts events and can repeat recent ones. */
const createForwarder = (service: Service, terminal: Terminal, to: Post) => {
  const remembered = new Map<string, FeedEvent>();

  const forward = async (event: FeedEvent): Promise<PostResult> => {
    remembered.delete(event.id);
    remembered.set(event.id, event);
    const [oldest = ''] = remembered.keys();
    if (remembered.size > REMEMBERED_MAX) remembered.delete(oldest);
    const posted = await post(to, event, terminal.signal);
    terminal.print(posted, () => lineOf(posted));
    return posted;
  };

  return {
    forward,
    /** @param id event id; empty: the last event. @throws {CommandFailed} if it is not among the recent events. */
    again: async (id: string): Promise<PostResult> => {
      const wanted = id || [...remembered.keys()].at(-1);
      if (wanted === undefined) throw new CommandFailed('no event has been posted yet');
      return forward(remembered.get(wanted) ?? (await findEvent(service, wanted)));
    },
  };
};

type Forwarder = ReturnType<typeof createForwarder>;

const resend = async ({ again }: Forwarder, id: string): Promise<undefined> => {
  const { event, problem } = await again(id);
  if (problem !== null) throw new CommandFailed(`${event} was not accepted: ${problem}`);
};

/** Reposts the events whose ids are typed. */
const watchKeys = ({ again }: Forwarder, { canAsk, note }: Terminal): { close(): void } => {
  if (!canAsk) return { close: () => undefined };
  const lines = createInterface({ input: process.stdin, terminal: false });
  lines.on('line', (line) => void again(line.trim()).catch((error: Error) => note(error.message)));
  note(MORE);
  return lines;
};

/** The formats in which received mail is posted. */
const FORMATS = ['outbox', 'postmark_inbound', 'sendgrid_inbound'] as const;
type Format = (typeof FORMATS)[number];

/** @throws {UsageError} */
const formatOf = (text: string | undefined): Format => {
  const format = FORMATS.find((one) => one === (text ?? 'outbox'));
  if (format !== undefined) return format;
  throw new UsageError(`--format must be one of ${FORMATS.join(', ')}`);
};

const RECEIVED = 'inbound.received';

/** The feed has no bodies of received mail: they are read from the service. */
const bodyFor =
  (service: Service, format: Format): BodyOf =>
  async (event) =>
    event.type === RECEIVED
      ? (await import('./received-mail.ts')).mailBody(service, event, format)
      : { content: JSON.stringify(event) };

const listen = async (
  service: Service,
  invocation: Invocation,
  terminal: Terminal,
  { types, format }: { readonly types: string | undefined; readonly format: Format },
): Promise<undefined> => {
  const url = localUrl(required(invocation, 'forward-to'));
  const secret = await secretOf();
  const { note } = terminal;
  const forwarder = createForwarder(service, terminal, { url, secret, bodyOf: bodyFor(service, format) });
  const one = optional(invocation, 'resend');
  if (one !== undefined) return resend(forwarder, one);
  const left = { count: optionalCount(invocation, 'limit') ?? Number.POSITIVE_INFINITY };
  note(`posting to ${url.href}`);
  note(`signing secret: ${secret} (set OUTBOX_WEBHOOK_SECRET to use another)`);
  const keys = watchKeys(forwarder, terminal);
  try {
    for await (const { cursor, event } of service.events({ types }, optional(invocation, 'after'))) {
      await forwarder.forward(event);
      left.count -= 1;
      if (left.count > 0) continue;
      note(`to continue from here: --after ${cursor}`);
      break;
    }
  } finally {
    keys.close();
  }
  return undefined;
};

export const listenCommand: ServiceCommand = {
  name: 'webhooks listen',
  usage: '--forward-to URL [--types VALUE] [--after CURSOR|start] [--resend EVT_ID] [--limit N]',
  summary:
    'posts events to your URL as they happen, signed like webhooks, until Ctrl-C; --resend posts one event again',
  needs: 'service',
  run: (service, invocation, terminal) =>
    listen(service, invocation, terminal, { types: optional(invocation, 'types'), format: 'outbox' }),
};

export const listenInboundCommand: ServiceCommand = {
  name: 'inbound listen',
  usage: '--forward-to URL [--format VALUE] [--after CURSOR|start] [--resend EVT_ID] [--limit N]',
  summary:
    'posts received mail to your URL as it arrives, like a webhook, until Ctrl-C; --resend posts one event again',
  needs: 'service',
  run: async (service, invocation, terminal) =>
    listen(service, invocation, terminal, { types: RECEIVED, format: formatOf(optional(invocation, 'format')) }),
};
