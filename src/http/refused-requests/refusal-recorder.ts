import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, type Registry } from 'prom-client';
import type { CommandContext } from '../../commands/context.ts';
import { organizationSecret } from '../../commands/organization.ts';
import { addressDigest } from '../../commands/suppression/change-suppression.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import type { RecordedRefusal, RefusedRequests } from '../../domain/ports/requests.ts';
import { type Logger, withTimeout } from '../../lib/async/async.ts';
import { type ErrorBody, isUnavailable } from '../errors/error-response.ts';
import { type DescribedRefusal, describeRefusal } from './describe-refusal.ts';
import { createRefusalBudget } from './refusal-budget.ts';

/**
 * Records refused requests of authenticated principals in the background, so that responses neither wait nor fail because
 * of it. Each request is one row within the budget of its organization. Above the budget, and for every request over a
 * rate limit, requests of the same principal, route and code within a minute share one row with a count and no body. The
 * buffer is bounded: while the database is down, requests that do not fit are dropped and counted. A process that is
 * killed loses the last second.
 */

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

export interface RefusalRecorderOptions {
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
    if (refusal === null || reply.statusCode >= 500 || isClosed) return;
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
      if (!isAway) logger.warn({ error, requests: batch.length }, 'refused requests cannot be recorded');
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
