import { Client } from 'pg';
import { type Logger, StartRefused, type System } from '../async/async.ts';
import { ADVISORY_LOCKS } from './session-lock.ts';

export interface OwnershipOptions {
  readonly url: string;
  readonly system: System;
  readonly logger: Logger;
  /** Another service took the data while the database was down: this one must stop. */
  readonly onLost: (reason: StartRefused) => void;
}

export interface Ownership {
  release(): Promise<void>;
}

/** A killed service's lock is released when the server notices its closed connection. Longer delays every rejection. */
const PATIENCE_MS = 2_000;
const RETRY_MS = 100;
/** Pause between attempts to take the lock again after the database was down. */
const RECONNECT_MS = 500;

/** A frozen server accepts connections but never answers. */
const TIMEOUT_MS = 5_000;

const NAME = 'outbox owner';

const connect = async (url: string, name: string): Promise<Client> => {
  const client = new Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    keepAlive: true,
  });
  client.on('error', () => undefined); // its end is what counts
  await client.connect();
  return client;
};

const tryLock = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    ADVISORY_LOCKS.ownership,
  ]);
  return rows[0]?.taken === true;
};

const HOLDER = `
  select a.application_name as name
  from pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.classid = 0 and l.objid = $1 and l.granted
    and l.database = (select oid from pg_database where datname = current_database())`;

const refusal = async (client: Client): Promise<StartRefused> => {
  const { rows } = await client.query<{ name: string }>(HOLDER, [ADVISORY_LOCKS.ownership]);
  const [, pid] = /^outbox owner (\d+)/.exec(rows[0]?.name ?? '') ?? [];
  const which = pid === undefined ? '' : ` (process ${pid})`;
  return new StartRefused(
    `another Outbox service${which} is already running on this data: stop it, or name another DATA_DIR`,
  );
};

const lockOrRefuse = async (client: Client, system: System): Promise<void> => {
  const deadline = system.monotonicMs() + PATIENCE_MS;
  while (!(await tryLock(client))) {
    if (system.monotonicMs() > deadline) throw await refusal(client);
    await system.sleep(RETRY_MS);
  }
};

/** A slow server may not have noticed that this process abandoned an earlier connection, which still holds the lock. */
const endEarlierConnections = async (client: Client, name: string): Promise<void> => {
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()',
    [name],
  );
};

const take = async (url: string, system: System, name: string): Promise<Client> => {
  const client = await connect(url, name);
  try {
    await endEarlierConnections(client, name);
    await lockOrRefuse(client, system);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
};

/**
 * Makes this process the only service on the database until it releases it or dies. The lock ends with the connection,
 * so it is taken again after the database was down.
 * @throws {StartRefused} if another service has it.
 */
export const claimOwnership = async ({ url, system, logger, onLost }: OwnershipOptions): Promise<Ownership> => {
  const released = new AbortController();
  // Processes in two containers may have the same pid.
  const name = `${NAME} ${process.pid} ${Buffer.from(system.randomBytes(4)).toString('hex')}`;
  let client = await take(url, system, name);

  const retake = async (): Promise<void> => {
    await system.sleep(RECONNECT_MS, released.signal);
    client = await take(url, system, name);
    if (released.signal.aborted) await client.end();
    else watch();
  };
  const retakeOrTell = (): void => {
    retake().catch((error: unknown) => {
      if (released.signal.aborted) return;
      if (error instanceof StartRefused) onLost(error);
      else retakeOrTell();
    });
  };
  const watch = (): void => {
    client.once('end', () => {
      if (released.signal.aborted) return;
      logger.warn({}, 'the database went away: taking ownership of the data again');
      retakeOrTell();
    });
  };

  watch();
  return {
    release: async () => {
      released.abort();
      await client.end();
    },
  };
};

/** True if no service owns the database right now. This may change at any time. */
export const isUnowned = async (url: string): Promise<boolean> => {
  const client = await connect(url, NAME);
  try {
    return await tryLock(client);
  } finally {
    await client.end();
  }
};
