import { ADVISORY_LOCKS } from '../adapters/postgres/advisory-locks.ts';
import { takeSessionLock } from '../adapters/postgres/session-lock.ts';
import { copyLog } from '../composition/copy-log.ts';
import { openEventStore } from '../composition/open-engines.ts';
import { type OperatorCommand, optional, required, UsageError } from './command.ts';

const DATABASE = 'database';

const eventStoreUrlOf = (place: string): string | undefined => {
  if (place === DATABASE) return undefined;
  if (/^(esdb|kurrentdb)(\+discover)?:\/\//.test(place)) return place;
  throw new UsageError(`'${place}' is no log: give esdb://… or \`${DATABASE}\` (the log in PostgreSQL)`);
};

export const copyLogCommand: OperatorCommand = {
  name: 'log copy',
  usage: `--to esdb://…|${DATABASE} [--from esdb://…|${DATABASE}]`,
  summary: 'copies the log, event by event, to another engine, and lets the read models be made again from it',
  options: { to: { type: 'string' }, from: { type: 'string' } },
  needs: 'engines',
  takesOtherLog: true,
  run: async ({ context, databaseUrl, system, logger, pool }, invocation, config) => {
    const from = optional(invocation, 'from');
    const fromUrl = from === undefined ? config.eventStoreUrl : eventStoreUrlOf(from);
    const toUrl = eventStoreUrlOf(required(invocation, 'to'));
    if (fromUrl === toUrl) throw new UsageError('--to is where the log is already');
    const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'alone');
    if (lock === null) throw new UsageError('a service is running on this database: stop it first');
    const parts = { databaseUrl, system, logger, contents: context.contents };
    const source = await openEventStore(fromUrl, parts);
    const target = await openEventStore(toUrl, parts);
    try {
      const copied = await copyLog({ source, target, targetKeepsOrder: toUrl !== undefined, pool });
      const next =
        toUrl === undefined
          ? 'start the service without EVENTSTORE_URL'
          : `start the service with EVENTSTORE_URL=${toUrl}`;
      return { events: copied.events, log_id: copied.logId, next };
    } finally {
      await target.close();
      await source.close();
      await lock.release();
    }
  },
};
