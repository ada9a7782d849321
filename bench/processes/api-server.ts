import { Client } from 'pg';
import { createLogger } from '../../src/adapters/system.ts';
import type { CommandContext } from '../../src/commands/execute.ts';
import { createClosers } from '../../src/composition/lifecycle.ts';
import { openEngines } from '../../src/composition/open-engines.ts';
import { openReceiving } from '../../src/composition/open-inbound.ts';
import { createRateLimiterOpener } from '../../src/composition/open-rate-limiter.ts';
import { startApi } from '../../src/composition/start-api.ts';
import { readConfig } from '../../src/config.ts';
import type { Append } from '../../src/domain/kernel/event-store.ts';
import { createMailParser } from '../../src/lib/mime/mime.ts';
import { serveParent } from '../harness/serve-parent.ts';

export interface ApiServer {
  readonly databaseUrl: string;
  readonly secretKey: string;
  /** Replaces the log in PostgreSQL. */
  readonly eventStoreUrl?: string;
  /** `none`: writes are dropped, everything else is unchanged. */
  readonly storage: 'durable' | 'none';
}

/** A dummy position, which nothing reads: `SendMessage` responds from its decision. */
const POSITION = '0000000000000001';

const withoutStorage = (context: CommandContext): CommandContext => ({
  ...context,
  store: {
    ...context.store,
    append: ({ events }: Append) => Promise.resolve({ revision: events.length - 1, position: POSITION }),
  },
  contents: { ...context.contents, put: () => Promise.resolve() },
});

let queries = 0;
/** Counts the queries of all connections. */
const countQueries = (): void => {
  const { query } = Client.prototype;
  Client.prototype.query = function counted(this: Client, ...given: unknown[]) {
    queries += 1;
    return Reflect.apply(query, this, given);
  } as typeof query;
};

/** The API as started with `ROLES=api`. */
await serveParent(async ({ databaseUrl, secretKey, eventStoreUrl = '', storage }: ApiServer) => {
  countQueries();
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    EVENTSTORE_URL: eventStoreUrl,
    ROLES: 'api',
    PORT: '0',
  });
  const logger = createLogger({ level: 'error' });
  const closers = createClosers(logger);
  const engines = await openEngines({ config, logger, closers, owner: false });
  const context = storage === 'none' ? withoutStorage(engines.context) : engines.context;
  const parts = {
    receiving: openReceiving(engines),
    mailParser: closers.keep('mail parser', createMailParser()),
    openRateLimiter: createRateLimiterOpener(config, engines),
  };
  const api = await startApi(config, { ...engines, context }, parts);
  closers.add('API', api.stop);
  return { facts: { baseUrl: api.baseUrl }, answers: { queries: () => queries }, close: closers.closeAll };
});
