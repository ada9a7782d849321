import { onTestFinished } from 'vitest';

/**
 * Closes a resource when the test has finished, in reverse order of opening. This file imports no engine, because
 * `npm run test:postgres` runs every test that reaches `support/postgres.ts`.
 */
export const closedAfterTest = <T extends { close(): Promise<void> }>(each: T): T => {
  onTestFinished(() => each.close());
  return each;
};
