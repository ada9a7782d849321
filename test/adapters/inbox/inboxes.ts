import type { Pool } from 'pg';
import { beforeAll } from 'vitest';
import { createPostgresInbox } from '../../../src/adapters/inbox/postgres.ts';
import type { Inbox, ReceivedMail } from '../../../src/domain/ports/mail.ts';
import { createInMemoryInbox } from '../../support/in-memory/inbox.ts';
import { openMigratedPool } from '../../support/postgres.ts';

/** Inboxes, and mail for their tests. */

export const RECEIVED_AT = new Date('2026-01-02T03:04:05.678Z');

export const mailOf = (subject: string, more: Partial<ReceivedMail> = {}): ReceivedMail => ({
  environment: 'live',
  from: 'from@a.test',
  to: ['to@b.test'],
  raw: Buffer.from(`Subject: ${subject}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGrüße\r\n`),
  receivedAt: RECEIVED_AT,
  ...more,
});

/** Opens inboxes, with one database for a test file. */
export const useInboxes = () => {
  let pool: Pool;
  beforeAll(async () => {
    const opened = await openMigratedPool();
    pool = opened.pool;
    return opened.close;
  });
  const openPostgres = async (): Promise<Inbox> => {
    await pool.query('truncate inbox.captured_mail');
    return createPostgresInbox({ pool });
  };
  const kinds = [
    ['in memory', async () => createInMemoryInbox()],
    ['in PostgreSQL', openPostgres],
  ] as const;
  return { kinds, openPostgres, pool: () => pool };
};
