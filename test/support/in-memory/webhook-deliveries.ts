import { isDeepStrictEqual } from 'node:util';
import {
  type ClaimedDelivery,
  type CountedReplay,
  type FinishedTry,
  type OwedDelivery,
  type OwedEvents,
  type RecordingCheckpoint,
  type ReplayPage,
  SCANNED_MAX,
  type StoredOwedEvents,
  type WebhookDeliveries,
  type WebhookDelivery,
  type WebhookDeliveryState,
  type WebhookReplay,
  type WebhookTry,
} from '../../../src/domain/ports/webhooks.ts';

interface Row extends OwedDelivery {
  readonly number: number;
  readonly createdAt: Date;
  state: WebhookDeliveryState;
  attempts: number;
  dueAt: Date;
  readonly tries: Map<number, WebhookTry>;
}

const isFailing = ({ state, attempts }: Row): boolean => state === 'failed' || (state === 'pending' && attempts > 0);

const shown = ({ id, webhookId, event, replayId, state, dueAt, createdAt, tries }: Row): WebhookDelivery => ({
  id,
  webhookId,
  event,
  ...(replayId === undefined ? {} : { replayId }),
  state,
  createdAt,
  dueAt: state === 'pending' ? dueAt : null,
  tries: [...tries].sort(([left], [right]) => left - right).map(([, each]) => each),
});

type NumberedReplay = readonly [number: number, replay: WebhookReplay];

const pageOf = <Replay>(
  all: readonly NumberedReplay[],
  limit: number,
  replayFrom: (replay: WebhookReplay) => Replay,
): ReplayPage<Replay> => ({
  replays: all.slice(0, limit).map(([, replay]) => replayFrom(replay)),
  next: all.length > limit ? String(all[limit - 1]?.[0]) : null,
});

/** Webhook deliveries in a map, for simulations and for tests of the layers above. */
export const createInMemoryWebhookDeliveries = (): WebhookDeliveries => {
  const rows = new Map<string, Row>();
  const failures = new Map<string, Date>();
  const replays = new Map<string, WebhookReplay>();
  const owedEvents = new Map<string, StoredOwedEvents>();
  let added = 0;
  let recorded: RecordingCheckpoint | null = null;

  const add = (owed: OwedDelivery, now: Date): void => {
    if (rows.has(owed.id)) return;
    added += 1;
    rows.set(owed.id, {
      ...owed,
      number: added,
      createdAt: now,
      state: 'pending',
      attempts: 0,
      dueAt: now,
      tries: new Map(),
    });
  };

  const addLater = (events: OwedEvents): void => {
    added += 1;
    owedEvents.set(String(added), { ...events, number: String(added), made: 0 });
  };

  const dueOf = (webhookId: string, now: Date): readonly Row[] =>
    [...rows.values()]
      .filter((row) => row.webhookId === webhookId && row.state === 'pending' && row.dueAt <= now)
      .sort((left, right) => left.dueAt.getTime() - right.dueAt.getTime());

  const leased = (row: Row, until: Date): ClaimedDelivery => {
    row.dueAt = until;
    const { id, webhookId, event, attempts, replayId } = row;
    return { id, webhookId, event, attempts, ...(replayId === undefined ? {} : { replayId }) };
  };

  const finishOne = ({ deliveryId, attempt, state, dueAt, ...tried }: FinishedTry): void => {
    const row = rows.get(deliveryId);
    if (row === undefined) return;
    if (!row.tries.has(attempt)) row.tries.set(attempt, tried);
    if (row.state !== 'pending') return;
    row.state = state;
    row.attempts = Math.max(row.attempts, attempt);
    row.dueAt = dueAt;
  };

  const note = (webhookId: string, tries: readonly FinishedTry[]): void => {
    const [first] = tries.map(({ at }) => at).sort((left, right) => left.getTime() - right.getTime());
    if (tries.some(({ state }) => state === 'delivered')) failures.delete(webhookId);
    else if (first !== undefined && !failures.has(webhookId)) failures.set(webhookId, first);
  };

  const endpointOf = ({ deliveryId }: FinishedTry): string | undefined => rows.get(deliveryId)?.webhookId;

  const numbered = (): readonly NumberedReplay[] => [...replays.values()].map((replay, index) => [index + 1, replay]);

  const counted = (replay: WebhookReplay): CountedReplay => {
    const own = [...rows.values()].filter(({ replayId }) => replayId === replay.id);
    const count = (wanted: WebhookDeliveryState): number => own.filter(({ state }) => state === wanted).length;
    return { ...replay, counts: { pending: count('pending'), delivered: count('delivered'), failed: count('failed') } };
  };

  return {
    checkpoint: async () => recorded,

    record: async ({ logId, from, to, owed, owedLater = [], now }) => {
      const isWhereItWas = from === (recorded?.position ?? null) && logId === (recorded?.logId ?? logId);
      if (!isWhereItWas) return false;
      recorded = { logId, position: to };
      for (const each of owed) add(each, now);
      owedLater.forEach(addLater);
      return true;
    },

    owedEvents: async (after) => {
      const waiting = [...owedEvents.values()];
      const organizations = waiting.map(({ organizationId }) => organizationId).sort();
      const next = organizations.find((organizationId) => organizationId > after) ?? organizations[0];
      return waiting.find(({ organizationId }) => organizationId === next) ?? null;
    },

    distribute: async ({ of: { number, made }, owed, isLast, now }) => {
      const found = owedEvents.get(number);
      if (found === undefined || found.made !== made) return;
      if (isLast) owedEvents.delete(number);
      else owedEvents.set(number, { ...found, made: made + owed.length });
      for (const each of owed) add(each, now);
    },

    claim: async (wanted, { now, leaseUntil }) =>
      wanted.flatMap(({ webhookId, limit }) =>
        dueOf(webhookId, now)
          .slice(0, limit)
          .map((row) => leased(row, leaseUntil)),
      ),

    release: async (ids, now) => {
      for (const id of ids) {
        const row = rows.get(id);
        if (row?.state === 'pending') row.dueAt = now;
      }
    },

    finish: async (tries) => {
      for (const each of tries) finishOne(each);
      for (const [webhookId, theirs] of Map.groupBy(tries, endpointOf)) {
        if (webhookId !== undefined) note(webhookId, theirs);
      }
    },

    failingSince: async (webhookIds) => new Map([...failures].filter(([id]) => webhookIds.includes(id))),
    waitingSince: async (webhookIds) => {
      const pending = [...rows.values()].filter((row) => row.state === 'pending' && webhookIds.includes(row.webhookId));
      const newestFirst = pending.toSorted((left, right) => right.number - left.number);
      return new Map(newestFirst.map(({ webhookId, createdAt }) => [webhookId, createdAt]));
    },

    find: async ({ ids, limit }) =>
      [...new Set(ids)]
        .flatMap((id) => rows.get(id) ?? [])
        .sort((left, right) => right.number - left.number)
        .slice(0, limit)
        .map(shown),

    list: async ({ webhookId, limit, after, state, type }) => {
      const before = after === undefined ? Number.POSITIVE_INFINITY : Number(after);
      const scanned = [...rows.values()]
        .filter((row) => row.webhookId === webhookId && row.number < before)
        .sort((left, right) => right.number - left.number)
        .slice(0, SCANNED_MAX);
      const found = scanned.filter(
        (row) =>
          (state === undefined || row.state === state || (state === 'failing' && isFailing(row))) &&
          (type === undefined || row.event.type === type),
      );
      const page = found.slice(0, limit);
      const end = scanned.length === SCANNED_MAX ? String(scanned.at(-1)?.number) : null;
      return { deliveries: page.map(shown), next: found.length > limit ? String(page.at(-1)?.number) : end };
    },

    startReplay: async (replay) => {
      const running = [...replays.values()].some(
        ({ state, webhookId }) => state === 'running' && webhookId === replay.webhookId,
      );
      if (!running) replays.set(replay.id, { ...replay, state: 'running', endedAt: null });
      return !running;
    },

    findReplay: async (id) => {
      const replay = replays.get(id);
      return replay === undefined ? null : counted(replay);
    },

    listReplays: async ({ webhookId, limit, after = Number.POSITIVE_INFINITY }) =>
      pageOf(
        numbered()
          .filter(([number, replay]) => replay.webhookId === webhookId && number < Number(after))
          .reverse(),
        limit,
        counted,
      ),

    runningReplays: async ({ limit, after }) =>
      pageOf(
        numbered().filter(([number, { state }]) => state === 'running' && number > Number(after)),
        limit,
        (replay) => replay,
      ),

    advanceReplay: async ({ replay: { id, place }, to, owed, isLast, now }) => {
      const found = replays.get(id);
      if (found?.state !== 'running' || !isDeepStrictEqual(found.place, place)) return false;
      const ended = isLast ? ({ state: 'completed', endedAt: now } as const) : {};
      replays.set(id, { ...found, place: to, ...ended });
      for (const each of owed) add({ ...each, replayId: id }, now);
      return true;
    },

    cancelReplay: async (id, now) => {
      const found = replays.get(id);
      if (found?.state === 'running') replays.set(id, { ...found, state: 'cancelled', endedAt: now });
      for (const row of [...rows.values()]) {
        if (row.replayId === id && row.state === 'pending' && row.attempts === 0) rows.delete(row.id);
      }
    },

    pendingOf: async (webhookId, limit) =>
      Math.min(
        limit,
        [...rows.values()].filter((row) => row.webhookId === webhookId && row.state === 'pending').length,
      ),

    resend: async (id, now) => {
      const row = rows.get(id);
      if (row !== undefined) Object.assign(row, { state: 'pending', dueAt: now });
    },
  };
};
