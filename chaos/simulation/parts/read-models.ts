import { apiKeysProjection } from '../../../src/projections/api-keys.ts';
import { deliveriesProjection } from '../../../src/projections/deliveries/projection.ts';
import {
  type DueDelivery,
  type DuePlace,
  type DueQuery,
  mailFlowOf,
} from '../../../src/projections/deliveries/queries.ts';
import { messagesProjection } from '../../../src/projections/messages/projection.ts';
import type { Projection } from '../../../src/projections/projection.ts';
import type { Timetable } from '../../../src/workers/delivery/sweep.ts';
import type { ExpiredKeys } from '../../../src/workers/expire-keys.ts';
import type { Ground } from '../ground.ts';
import type { Log } from './log.ts';
import { begin, createTables, type Tables } from './tables.ts';

/** The projections' folds over in-memory tables, with their queries. */
export interface ReadModels {
  readonly tables: Tables;
  /** True if every projection has processed the whole log. */
  isCaughtUp(): boolean;
  readonly timetable: Timetable;
  expired: ExpiredKeys;
}

const PROJECTIONS: readonly Projection[] = [deliveriesProjection, messagesProjection, apiKeysProjection];

/** Maximum delay between batches. Sometimes a projection pauses for longer. */
const LAG_MS_MAX = 60;
const STANDSTILL_MS_MAX = 4000;
const BATCHES = [1, 2, 7, 1000];

/** Builds the same read models in one pass. */
export const rebuilt = async (log: Log): Promise<Tables> => {
  const tables = createTables();
  const { db, commit } = begin(tables);
  const events = log.events().map(({ event }) => event);
  for (const projection of PROJECTIONS) await projection.apply(db, events);
  commit();
  return tables;
};

const text = (value: unknown): string => String(value);

const orderOf = ({ dueAt, messageId }: DuePlace): string => `${dueAt} ${messageId}`;
const follows = (row: DuePlace, place: DuePlace): boolean => orderOf(row) > orderOf(place);

const dueIn = (tables: Tables, { bulk, before }: Pick<DueQuery, 'bulk' | 'before'>): readonly DueDelivery[] =>
  [...(tables.get('deliveries')?.values() ?? [])]
    .filter((row) => row.bulk === bulk && text(row.dueAt) <= before)
    .map(
      ({ messageId, organizationId, destination, environment, dueAt, expiresAt }): DueDelivery => ({
        messageId: text(messageId),
        organizationId: text(organizationId),
        destination: text(destination),
        dueAt: text(dueAt),
        expiresAt: text(expiresAt),
        environment: environment === 'test' ? 'test' : 'live',
      }),
    )
    .sort((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1));

export const createReadModels = (ground: Ground, log: Log): ReadModels => {
  const { scheduler, random, faults } = ground;
  const tables = createTables();
  const positions = new Map<Projection, number>(PROJECTIONS.map((projection) => [projection, 0]));

  /** One transaction: it writes rows and checkpoint, or nothing. */
  const advance = async (projection: Projection): Promise<void> => {
    const from = positions.get(projection) ?? 0;
    const batch = log.events().slice(from, from + random.pick(BATCHES));
    const { db, commit } = begin(tables);
    const events = batch.map(({ event }) => event);
    await projection.apply(db, events);
    if (faults.strikes('projection falls back')) return;
    commit();
    positions.set(projection, from + batch.length);
  };

  const pending = new Set<Projection>();
  const isBehind = (projection: Projection): boolean => (positions.get(projection) ?? 0) < log.events().length;

  const plan = (projection: Projection): void => {
    if (pending.has(projection) || !isBehind(projection)) return;
    pending.add(projection);
    const standsStill = !faults.haveEnded() && random.chance(0.02);
    const lagMs = random.between(1, standsStill ? STANDSTILL_MS_MAX : LAG_MS_MAX);
    scheduler.after(lagMs, `projection of ${projection.name}`, () => {
      void advance(projection).then(() => {
        pending.delete(projection);
        plan(projection);
      });
    });
  };

  log.onAppend(() => {
    for (const projection of PROJECTIONS) plan(projection);
  });

  return {
    tables,
    isCaughtUp: () => !PROJECTIONS.some(isBehind),
    timetable: {
      due: async ({ after, behind = new Map(), ...asked }) => {
        const due = dueIn(tables, asked).filter((row) => {
          const flow = mailFlowOf(row);
          const place = behind.get(flow);
          return flow > after && (place === undefined || follows(row, place));
        });
        return { due, next: '' };
      },
    },
    expired: async ({ before, limit }) =>
      [...(tables.get('api_keys')?.values() ?? [])]
        .filter(
          ({ status, expiresAt, expiryNoted }) =>
            status === 'active' && expiryNoted === false && isPast(expiresAt, before),
        )
        .map(({ keyId }) => text(keyId))
        .slice(0, limit),
  };
};

const isPast = (expiresAt: unknown, before: string): boolean => typeof expiresAt === 'string' && expiresAt <= before;
