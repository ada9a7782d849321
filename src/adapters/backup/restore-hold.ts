import type { Pool } from 'pg';
import type { Message } from '../../domain/message/message.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';

/**
 * After a restore we do not know which mail was sent between the backup and the loss: mail that is waiting according to
 * the backup may have been delivered. Such mail is held until the operator releases it. Mail accepted after the restore
 * is sent as usual, and so is mail scheduled for after the restore, which cannot have been sent before.
 */

export interface RestoreHold {
  holds(message: Message): boolean;
  close(): Promise<void>;
}

const READ = 'select restored_at as "restoredAt" from vault.restore_hold where released_at is null';
const RELEASE = 'update vault.restore_hold set released_at = now() where released_at is null returning restored_at';

/** How late a release is noticed. Each look is a query of one row, while mail is held. */
const LOOK_EVERY_MS = 2_000;

/** Time of the restore, if its mail is held. */
export const heldSince = async (pool: Pool): Promise<Date | undefined> => {
  const { rows } = await orUnavailable(pool.query<{ restoredAt: Date }>(READ));
  return rows[0]?.restoredAt;
};

/** @returns false if no mail was held. */
export const releaseRestored = async (pool: Pool): Promise<boolean> =>
  ((await orUnavailable(pool.query(RELEASE))).rowCount ?? 0) > 0;

/** Read once: a restore needs a stopped service, so a hold never begins while a service runs. */
export const openRestoreHold = async (
  pool: Pool,
  system: Pick<System, 'sleep'>,
  logger: Logger,
): Promise<RestoreHold> => {
  const restoredAt = await heldSince(pool);
  let held = restoredAt?.toISOString();
  const closing = new AbortController();

  const watch = async (): Promise<void> => {
    while (held !== undefined && !closing.signal.aborted) {
      await system.sleep(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
      const since = await heldSince(pool).catch(() => restoredAt); // retried later
      if (since === undefined) held = undefined;
    }
    if (!closing.signal.aborted) logger.info({}, 'mail from before the restore is released');
  };

  if (held !== undefined) {
    const told = 'mail accepted before the restore is held: `npm run outbox -- restore --release` delivers it';
    logger.warn({ restoredAt: held }, told);
  }
  const watching = held === undefined ? undefined : watch();

  return {
    holds: (message) =>
      held !== undefined &&
      message.status !== 'absent' &&
      message.environment === 'live' &&
      message.acceptedAt <= held &&
      (message.schedule?.current ?? '') <= held,
    close: async () => {
      closing.abort();
      await watching;
    },
  };
};
