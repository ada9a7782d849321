import { describe } from 'vitest';
import { migratedDatabase } from '../../support/postgres.ts';
import { describeRateLimiter } from './contract.ts';
import { openProcess } from './support/processes.ts';

const timing = (windowMs: number | undefined) => (windowMs === undefined ? {} : { windowMs });

describe('with PostgreSQL', () => {
  describeRateLimiter('in PostgreSQL, of a process that is alone', async () => {
    const database = await migratedDatabase();
    return { open: (windowMs) => openProcess(database.url, timing(windowMs)), stop: database.drop };
  });

  describeRateLimiter('in PostgreSQL, of a process beside another', async () => {
    const database = await migratedDatabase();
    const other = await openProcess(database.url);
    return {
      open: (windowMs) => openProcess(database.url, timing(windowMs)),
      stop: async () => {
        await other.close();
        await database.drop();
      },
    };
  });
});
