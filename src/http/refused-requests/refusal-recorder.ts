import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, type Registry } from 'prom-client';
import type { CommandContext } from '../../commands/execute.ts';
import { organizationSecret } from '../../commands/organization.ts';
import { addressDigest } from '../../commands/suppression.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import type {
  RecordedRefusal,
  RefusedBody,
  RefusedField,
  RefusedRequest,
  RefusedRequests,
} from '../../domain/ports/requests.ts';
import { type Logger, withTimeout } from '../../lib/async/async.ts';
import { type ErrorBody, isUnavailable } from '../errors.ts';
import {
  outerPaths,
  type Place,
  type RedactedBody,
  redactBody,
  redactField,
  redactName,
  redactPath,
  redactSentence,
} from './redact.ts';
import { createRefusalBudget } from './refusal-budget.ts';

/**
 * Records refused requests of authenticated principals in the background, so that responses neither wait nor fail because
 * of it. Each request is one row within the budget of its organization. Above the budget, and for every request over a
 * rate limit, requests of the same principal, route and code within a minute share one row with a count and no body. The
 * buffer is bounded: while the database is down, requests that do not fit are dropped and counted. A process that is
 * killed loses the last second.
 */

/** A refused request as it is recorded: what the error said, and where in the body that is. */

type DescribedRefusal = Omit<RefusedRequest, 'count'> & {
  /** In clear, until the digests are made. */
  readonly addresses: readonly string[];
};

type Refusal = ErrorBody['error'];

/** Problems shown of a refusal. More do not fit on a screen. */
const PROBLEMS_MAX = 20;
const SENTENCE_CHARACTERS_MAX = 300;
const USER_AGENT_CHARACTERS_MAX = 512;
const FIELD_STEP = /[^.[\]]+/g;

interface FieldSentence {
  readonly field: string;
  readonly sentence: string;
  /** `to[1].address`. */
  readonly path: string;
  /** The name is the problem, not the value. */
  readonly ofName: boolean;
}

/** The text after the path with which a sentence begins: `to[1] must be …`, `html or text is …`. Names may contain spaces. */
const PREDICATE = /(?: or text)?(?::| (?:must|is|are|has|have|was|were|cannot|can|may|needs|names)\b)/;

/** A sentence begins with the path of what it is about, or is about the whole field. */
const splitSentence = (field: string, sentence: string): readonly [path: string, predicate: string] => {
  const end = sentence.slice(0, SENTENCE_CHARACTERS_MAX).search(PREDICATE);
  return end > 0 && sentence.startsWith(field) ? [sentence.slice(0, end), sentence.slice(end)] : [field, ''];
};

/** A path in a field: where a name may be more than a name, no more than the field and its indices are left. */
const redactRest = (path: string, field: string): string => {
  const rest = path.slice(field.length);
  if ((rest.match(FIELD_STEP) ?? []).every((step) => /^\d+$/.test(step) || redactName(step) === step)) return path;
  return `${field}${/^(?:\[\d+\])*/.exec(rest)?.[0] ?? ''}.${redactName('')}`;
};

/** @param path begins with the field. */
const redactPathIn = (field: string, path: string): string =>
  redactField(field) === field ? redactRest(path, field) : redactField(field);

const toldOf = (field: string, sentence: string): FieldSentence => {
  const [path, predicate] = splitSentence(field, sentence);
  return {
    field,
    sentence: predicate === '' ? sentence : redactPathIn(field, path) + predicate,
    path,
    ofName: sentence.endsWith('is not a known field'),
  };
};

const toldIn = ({ details = {} }: Refusal): readonly FieldSentence[] =>
  Object.entries(details)
    .flatMap(([field, sentences]) => sentences.map((sentence) => toldOf(field, sentence)))
    .slice(0, PROBLEMS_MAX);

const NO_PLACE = { pointer: null, line: null, column: null, start: null, end: null };

const placed = (place: Place | undefined): Omit<RefusedField, 'field' | 'sentence'> =>
  place === undefined
    ? NO_PLACE
    : {
        pointer: place.pointer,
        line: place.line,
        column: place.column,
        start: place.marked?.start ?? null,
        end: place.marked?.end ?? null,
      };

/** Place of the field or, if it is missing, of the object that should contain it. */
const placeOf = ({ path, ofName }: FieldSentence, { places, names }: RedactedBody): Place | undefined => {
  const own = ofName ? (names.get(path) ?? places.get(path)) : places.get(path);
  const outer = outerPaths(path).find((one) => places.has(one));
  return own ?? (outer === undefined ? undefined : places.get(outer));
};

const fieldOf = (told: FieldSentence, body: RedactedBody | null): RefusedField => ({
  field: redactField(told.field),
  sentence: redactSentence(told.sentence, SENTENCE_CHARACTERS_MAX),
  ...(body === null ? NO_PLACE : placed(placeOf(told, body))),
});

/** Pointers hold names too. */
const withoutNames = (field: RefusedField): RefusedField => ({
  ...field,
  pointer:
    field.pointer
      ?.split('/')
      .map((step, index) => (index === 0 || /^\d+$/.test(step) ? step : redactName(step)))
      .join('/') ?? null,
});

/** Place where the JSON becomes invalid; empty if the request was refused for another reason. */
const faultIn = ({ code }: Refusal, body: RedactedBody | null): readonly RefusedField[] =>
  code !== 'invalid_json' || body === null || body.fault === null
    ? []
    : [
        {
          field: 'body',
          sentence: `body is not valid JSON here: expected ${body.fault.expected}`,
          ...placed(body.fault),
        },
      ];

const bodyOf = ({ request, withBody }: DescribedRequest, told: readonly FieldSentence[]): RedactedBody | null => {
  const asked = told.map(({ path }) => path);
  return withBody && request.sentJson !== null ? redactBody(request.sentJson, asked) : null;
};

const shownBody = (body: RedactedBody | null): RefusedBody | null =>
  body === null || body.text === '' ? null : { text: body.text, formatted: body.formatted, cut: body.cut };

const domainOf = ({ member, auditor, domain }: Caller): string | null =>
  member === undefined && auditor === undefined ? domain.id : null;

interface DescribedRequest {
  readonly request: FastifyRequest;
  /** The reply, already sent. */
  readonly reply: FastifyReply;
  readonly at: Date;
  /** Whether the body is read and shown. */
  readonly withBody: boolean;
}

/** The record of a refused request. */
export const describeRefusal = (refusal: Refusal, caller: Caller, described: DescribedRequest): DescribedRefusal => {
  const { request, reply, at } = described;
  const told = toldIn(refusal);
  const agent = request.headers['user-agent'];
  const body = bodyOf(described, told);
  return {
    id: request.id,
    organizationId: caller.organizationId,
    environment: caller.environment,
    domainId: domainOf(caller),
    principalId: caller.keyId,
    at,
    method: request.method,
    route: request.is404 ? null : (request.routeOptions.url ?? null),
    path: redactPath(request.url),
    status: reply.statusCode,
    code: refusal.code,
    message: redactSentence(refusal.message, SENTENCE_CHARACTERS_MAX),
    problems: [...told.map((one) => fieldOf(one, body)), ...faultIn(refusal, body)].map(withoutNames),
    body: shownBody(body),
    clientAddress: request.ip,
    userAgent: agent === undefined ? null : redactSentence(agent, USER_AGENT_CHARACTERS_MAX),
    durationMs: Math.round(reply.elapsedTime),
    addresses: body?.addresses ?? [],
  };
};

declare module 'fastify' {
  interface FastifyRequest {
    /** The error that a refused request was answered with. */
    refusal: ErrorBody['error'] | null;
    /** Owner of a credential that was refused for this use. */
    refusedCaller: Caller | null;
  }
}

export interface RefusalRecorder {
  /** Notes an answered request if it was refused and its principal is known. */
  note(request: FastifyRequest, reply: FastifyReply): void;
  /** Writes the noted requests within a time-out. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface RefusalRecorderOptions {
  readonly refusedRequests: Pick<RefusedRequests, 'record'>;
  readonly context: Pick<CommandContext, 'secrets' | 'system'>;
  readonly logger: Logger;
  readonly registry?: Registry | undefined;
}

/** Longer loses more in a crash and shows less to who looks at once, shorter writes smaller batches. */
const FLUSH_EVERY_MS = 1_000;
/** While the database is away. */
const RETRY_EVERY_MS = 5_000;
/** Some 6 kB each. */
const KEPT_MAX = 2_000;
const BATCH_MAX = 200;
/** Those alike within it are one row. */
const ALIKE_MS = 60_000;
/** Rows a minute of an organization beyond its budget; of all, the memory for them. */
const ALIKE_PER_ORGANIZATION_MAX = 20;
const ALIKE_MAX = 5_000;
/** Longest wait for a flush, also when closing. */
const WAIT_MS_MAX = 2_000;

/** A row that stands for many requests. */
interface Alike {
  readonly described: DescribedRefusal;
  readonly untilMs: number;
  /** Requests that are not written yet. */
  pending: number;
}

/** The dashboard shows beside a template what is wrong with it, asks which of two drafts stays, and waits for signatures. */
const PREVIEWS: readonly (string | undefined)[] = ['/v1/templates/:id/render', '/v1/templates/:id/preview'];
const ANSWERED: readonly (string | undefined)[] = ['precondition_failed', 'not_signed_yet'];

/** Refusals that the dashboard expects, and challenges, which members answer before it repeats the request. */
const isExpected = ({ refusal, caller, routeOptions: { url } }: FastifyRequest): boolean =>
  refusal?.code === 'presence_required' ||
  (caller?.member !== undefined && (PREVIEWS.includes(url) || ANSWERED.includes(refusal?.code)));

export const createRefusalRecorder = ({
  refusedRequests,
  context,
  logger,
  registry,
}: RefusalRecorderOptions): RefusalRecorder => {
  const { system, secrets } = context;
  const budget = createRefusalBudget(system);
  let waiting: (DescribedRefusal & { readonly count: number })[] = [];
  /** By principal, route and code, in the order of time. */
  const alike = new Map<string, Alike>();
  /** Their number, by organization. */
  const alikeOf = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let isAway = false;
  let isClosed = false;
  const dropped = new Counter({
    name: 'outbox_refused_requests_dropped_total',
    help: 'Refused requests that were not recorded',
    registers: registry === undefined ? [] : [registry],
  });
  dropped.inc(0);

  const addRow = (organizationId: string, difference: 1 | -1): void => {
    const rows = (alikeOf.get(organizationId) ?? 0) + difference;
    if (rows === 0) alikeOf.delete(organizationId);
    else alikeOf.set(organizationId, rows);
  };

  /** All that are written, up to the first whose minute is not over. */
  const forgetOld = (nowMs: number): void => {
    for (const [key, { described, untilMs, pending }] of alike) {
      if (untilMs > nowMs || pending > 0) return;
      alike.delete(key);
      addRow(described.organizationId, -1);
    }
  };

  /** @returns false: there are too many different ones. */
  const count = (organizationId: string, key: string, describe: () => DescribedRefusal): boolean => {
    const nowMs = system.monotonicMs();
    forgetOld(nowMs);
    const known = alike.get(key);
    if (known !== undefined) {
      known.pending += 1;
      return true;
    }
    const rows = alikeOf.get(organizationId) ?? 0;
    if (alike.size >= ALIKE_MAX || rows >= ALIKE_PER_ORGANIZATION_MAX) return false;
    alike.set(key, { described: describe(), untilMs: nowMs + ALIKE_MS, pending: 1 });
    addRow(organizationId, 1);
    return true;
  };

  const record = (refusal: ErrorBody['error'], caller: Caller, request: FastifyRequest, reply: FastifyReply): void => {
    const at = system.now();
    const describe = (withBody: boolean) => describeRefusal(refusal, caller, { request, reply, at, withBody });
    const { organizationId, keyId, environment } = caller;
    const hasRoom = refusal.code !== 'rate_limit_exceeded' && waiting.length < KEPT_MAX;
    const key = `${keyId} ${environment} ${request.method} ${request.routeOptions.url ?? ''} ${refusal.code}`;
    if (hasRoom && budget.take(organizationId)) waiting.push({ ...describe(true), count: 1 });
    else if (!count(organizationId, key, () => describe(false))) dropped.inc();
    schedule(FLUSH_EVERY_MS);
  };

  const note: RefusalRecorder['note'] = (request, reply) => {
    const { refusal } = request;
    if (refusal === null || reply.statusCode >= 500 || isClosed || isExpected(request)) return;
    const caller = request.caller ?? request.refusedCaller;
    if (caller !== null) record(refusal, caller, request, reply);
  };

  const digested = async ({ addresses, ...described }: (typeof waiting)[number]): Promise<RecordedRefusal> => {
    if (addresses.length === 0) return { ...described, addressDigests: [] };
    const secret = await organizationSecret(secrets, described.organizationId);
    return { ...described, addressDigests: addresses.map((address) => addressDigest(secret, address)) };
  };

  /** Takes those with something to write. */
  const takeAlike = (): typeof waiting => {
    const changed = alike
      .values()
      .filter(({ pending }) => pending > 0)
      .take(BATCH_MAX);
    return [...changed].map((each) => {
      const { described, pending } = each;
      each.pending = 0;
      return { ...described, count: pending };
    });
  };

  const write = async (batch: typeof waiting): Promise<void> => {
    await refusedRequests.record(await Promise.all(batch.map(digested)));
  };

  /** Drops a batch that the database rejects; keeps it if the database is unavailable. */
  const keepOrLose = (batch: typeof waiting, error: unknown): void => {
    const kept = isUnavailable(error) ? batch.slice(0, Math.max(0, KEPT_MAX - waiting.length)) : [];
    waiting = [...kept, ...waiting];
    for (const { count: requests } of batch.slice(kept.length)) dropped.inc(requests);
  };

  const takeBatch = (): typeof waiting => {
    const batch = waiting.slice(0, BATCH_MAX);
    waiting = waiting.slice(BATCH_MAX);
    return [...batch, ...takeAlike()];
  };

  /** @returns whether it was written. */
  const writeOrKeep = async (batch: typeof waiting): Promise<boolean> => {
    try {
      await write(batch);
      isAway = false;
    } catch (error) {
      if (!isAway) logger.warn({ error, requests: batch.length }, 'cannot record rejected requests: retrying');
      isAway = true;
      keepOrLose(batch, error);
    }
    return !isAway;
  };

  const flushAll = async (): Promise<void> => {
    let batch = takeBatch();
    while (batch.length > 0 && (await writeOrKeep(batch))) batch = takeBatch();
  };

  /** Never rejects. */
  const startFlush = (): Promise<void> => {
    flushing = flushing.then(flushAll);
    return flushing;
  };

  const hasWork = (): boolean => waiting.length > 0 || alike.values().some(({ pending }) => pending > 0);

  const flushOnTime = async (): Promise<void> => {
    await startFlush();
    timer = undefined;
    if (hasWork() && !isClosed) schedule(isAway ? RETRY_EVERY_MS : FLUSH_EVERY_MS);
  };

  const schedule = (ms: number): void => {
    timer ??= setTimeout(() => void flushOnTime(), ms).unref();
  };

  const flush = async (): Promise<void> => {
    if (hasWork()) await withTimeout({ ms: WAIT_MS_MAX }, startFlush()).catch(() => undefined);
  };

  return {
    note,
    flush,
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await flush();
      for (const { count: requests } of waiting) dropped.inc(requests);
    },
  };
};
