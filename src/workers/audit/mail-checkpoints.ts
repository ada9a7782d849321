import { requireContact } from '../../commands/auditor.ts';
import type { ExistingAuditor } from '../../domain/audit/audit.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { CHECKPOINT_FILE, checkpointNotice, type ShownCheckpoint } from '../../domain/organization/organization.ts';
import type { Leadership } from '../leadership.ts';
import { mailFromDomain, type SendNotices } from '../send-notices.ts';
import { repeat, type Work } from '../supervise.ts';
import type { Auditors } from './auditors.ts';

/**
 * Mails the newest checkpoint of their log to each auditor who has an address, once a day (UTC), as notices are mailed. The
 * id of the message follows from auditor and day, so that processes that take turns, or start again, send one.
 */
export interface MailCheckpoints extends SendNotices {
  readonly auditors: Auditors;
  readonly trees: {
    /** The newest first. */
    checkpoints(of: { readonly tree: string; readonly limit: number }): Promise<readonly ShownCheckpoint[]>;
  };
  readonly leadership: Pick<Leadership, 'isLeader'>;
  /** How often it is looked who has none of today. Default: `EVERY_MS`. */
  readonly everyMs?: number | undefined;
}

/** How long a new auditor waits for the first one. Each looks through all auditors, in memory. */
const EVERY_MS = 60_000;

const dayOf = (time: string): string => time.slice(0, 'YYYY-MM-DD'.length);

export const mailCheckpoints = (options: MailCheckpoints): Work => {
  const { auditors, trees, leadership, system, logger, caughtUp, everyMs = EVERY_MS } = options;
  /** The day of the last one, by the auditor's id. Empty after a start: then the log knows what was sent. */
  const mailedOn = new Map<string, string>();

  const mail = async (one: ExistingAuditor, { note, ...checkpoint }: ShownCheckpoint, day: string): Promise<void> => {
    const { auditorId, organizationId } = one;
    const { email } = await requireContact(options, one);
    if (email === null) return;
    await mailFromDomain(options, {
      organizationId,
      to: email,
      notice: checkpointNotice({ note, ...checkpoint }),
      attachments: [
        { filename: CHECKPOINT_FILE, contentType: 'text/plain', content: Buffer.from(note).toString('base64') },
      ],
      actor: 'worker:mail-checkpoints',
      causeId: auditorId,
      idempotencyKey: `checkpoint\n${auditorId}\n${day}`,
    });
  };

  const mailOnce = async (one: ExistingAuditor, day: string): Promise<void> => {
    const { auditorId, organizationId } = one;
    const [checkpoint] = await trees.checkpoints({ tree: organizationId, limit: 1 });
    if (checkpoint === undefined) return;
    await mail(one, checkpoint, day).catch((err: unknown) => {
      if (!(err instanceof DomainError)) throw err;
      logger.warn({ err, auditorId }, 'the checkpoint of this day is not mailed to an auditor: it was refused');
    });
    mailedOn.set(auditorId, day);
  };

  const isDue = ({ auditorId, status, expiresAt }: ExistingAuditor, now: string): boolean =>
    status === 'active' && expiresAt > now && mailedOn.get(auditorId) !== dayOf(now);

  const round = async (signal: AbortSignal): Promise<void> => {
    const now = system.now().toISOString();
    for (const one of [...auditors.values()].filter((each) => isDue(each, now))) {
      if (signal.aborted || !leadership.isLeader()) return;
      await mailOnce(one, dayOf(now));
    }
  };

  return repeat(system, async (signal) => {
    await caughtUp;
    await round(signal);
    return everyMs;
  });
};
