import { ADVISORY_LOCKS, takeSessionLock } from '../adapters/postgres/session-lock.ts';
import { type Progress, reencrypt } from '../adapters/secrets/reencrypt.ts';
import { copyLog } from '../composition/copy-log.ts';
import { openEventStore } from '../composition/open-engines.ts';
import { type OperatorCommand, optional, required, UsageError } from './command.ts';

/** Progress goes to standard error; results go to standard output. */
const printProgress = ({ table, rows, ofAbout }: Progress): void => {
  process.stderr.write(`vault.${table}: ${rows} of about ${ofAbout} rows\n`);
};

export const reencryptCommand: OperatorCommand = {
  name: 'secrets reencrypt',
  usage: '',
  summary:
    'encrypts stored data under the current SECRET_KEY, also while the service runs; resumes after an interruption',
  options: {},
  needs: 'engines',
  run: async ({ pool, system, secretKeys }, _, { encryptContents: encryptsContents }) => {
    const { reencrypted, unreadable } = await reencrypt({
      pool,
      system,
      secretKeys,
      encryptsContents,
      onProgress: printProgress,
    });
    const next =
      unreadable.length > 0
        ? 'set the key that these rows were encrypted under as PREVIOUS_SECRET_KEY, and run this again'
        : 'PREVIOUS_SECRET_KEY is no longer needed';
    return { reencrypted, unreadable, next };
  },
  isBad: (result) => 'unreadable' in result && Array.isArray(result.unreadable) && result.unreadable.length > 0,
};

const DATABASE = 'database';

const eventStoreUrlOf = (place: string): string | undefined => {
  if (place === DATABASE) return undefined;
  if (/^(esdb|kurrentdb)(\+discover)?:\/\//.test(place)) return place;
  throw new UsageError(`'${place}' is not a log: give esdb://… or \`${DATABASE}\` (the log in PostgreSQL)`);
};

export const copyLogCommand: OperatorCommand = {
  name: 'log copy',
  usage: `--to esdb://…|${DATABASE} [--from esdb://…|${DATABASE}]`,
  summary: 'copies the log to another engine; the next start rebuilds the read models from it',
  options: { to: { type: 'string' }, from: { type: 'string' } },
  needs: 'engines',
  takesOtherLog: true,
  run: async ({ context, databaseUrl, system, logger, pool }, invocation, config) => {
    const from = optional(invocation, 'from');
    const fromUrl = from === undefined ? config.eventStoreUrl : eventStoreUrlOf(from);
    const toUrl = eventStoreUrlOf(required(invocation, 'to'));
    if (fromUrl === toUrl) throw new UsageError('--to is the current log');
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
