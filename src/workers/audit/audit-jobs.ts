import { type AuditContext, LogContradiction, signCheckpoint } from '../../commands/audit.ts';
import { requireContact } from '../../commands/auditor.ts';
import type { ExistingAuditor } from '../../domain/audit/audit.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { dayOf } from '../../domain/kernel/event.ts';
import { CHECKPOINT_FILE, checkpointNotice, type ShownCheckpoint } from '../../domain/organization/organization.ts';
import type { AuditTrees } from '../../domain/ports/requests.ts';
import { type Logger, pause, type System } from '../../lib/async/async.ts';
import type { TreeCheckResult } from '../../projections/audit/check/check-trees.ts';
import type { Auditors } from '../in-memory-projections.ts';
import { mailFromDomain, type SendNotices } from '../send-notices.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';
import { type AskWitnesses, askWitnesses, type Witness } from './ask-witnesses.ts';

/** Queries of the read model of the audit trees. */
export interface AuditQueries extends Pick<AuditTrees, 'root' | 'state'> {
  /** Trees that have grown by more than their own checkpoints since they were last signed, at most so many. */
  unsigned(limit: number): Promise<readonly { readonly tree: string; readonly grownTo: number }[]>;
}

interface SignCheckpoints extends AuditContext {
  readonly trees: AuditQueries;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly logger: Logger;
  publicUrl(): string;
  /** How often a tree that grows is signed: what is not signed yet can be changed unseen. */
  readonly intervalMs: number;
  /** Counts signed checkpoints. */
  readonly onSigned?: (() => void) | undefined;
}

/** Trees of one query. */
const TREES_MAX = 500;

/** Signs the checkpoints of trees that grow. */
export const signCheckpoints = (options: SignCheckpoints): Work => {
  const { trees, leadership, logger, system, intervalMs, onSigned } = options;
  const host = (): string => new URL(options.publicUrl()).host;

  const sign = async (tree: string, grownTo: number): Promise<void> => {
    try {
      await signCheckpoint(options, { tree, trees, host: host(), grownTo });
      onSigned?.();
    } catch (error) {
      if (!(error instanceof LogContradiction)) throw error;
      logger.error({ tree, alarm: 'audit' }, `cannot sign a checkpoint: ${error.message}`);
    }
  };

  /** A process signs an interval after its start: its read models follow by then. */
  let isBegun = false;

  return repeat(system, async () => {
    if (isBegun && leadership.isLeader())
      for (const { tree, grownTo } of await trees.unsigned(TREES_MAX)) await sign(tree, grownTo);
    isBegun = true;
    return intervalMs;
  });
};

/**
 * Mails the newest checkpoint of their log to each auditor who has an address, once a day (UTC), as notices are mailed. The
 * id of the message follows from auditor and day, so that processes that take turns, or start again, send one.
 */
interface MailCheckpoints extends SendNotices {
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
      logger.warn({ err, auditorId }, "cannot mail today's checkpoint to an auditor: the send was rejected");
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

/**
 * Checks the audit trees once a day, when its hour begins. A process that starts within the hour waits for the next day,
 * so that restarts do not repeat a check. The service continues regardless of the result.
 */
interface CheckTreesNightly {
  /** Hour of the day in UTC. */
  readonly hour: number;
  check(signal: AbortSignal): Promise<TreeCheckResult>;
  /** Counts the faults of a check that was decided. */
  readonly onChecked?: ((faults: number) => void) | undefined;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: Pick<System, 'now' | 'sleep'>;
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The next time at which the hour begins, after another. Both in milliseconds since 1970. */
const nextTime = (afterMs: number, hour: number): number => {
  const today = Math.floor(afterMs / DAY_MS) * DAY_MS + hour * HOUR_MS;
  return today > afterMs ? today : today + DAY_MS;
};

const logResult = (
  logger: Logger,
  { verdict, faults, faultCount, doubts, isLogChanged, ...counts }: TreeCheckResult,
): void => {
  if (verdict === 'no fault') logger.info(counts, 'checked the audit trees: no fault');
  if (verdict === 'consistent')
    logger.info(counts, 'checked the audit trees: consistent in itself, not compared with a witness');
  if (verdict === 'undecided') logger.warn({ doubts, ...counts }, 'could not verify the audit trees');
  if (verdict !== 'faults') return;
  for (const fault of faults) logger.error({ alarm: 'audit' }, `a check of the audit trees found a fault: ${fault}`);
  logger.error(
    { ...counts, alarm: 'audit', faults: faultCount, isLogChanged },
    'checked the audit trees: found faults',
  );
};

export const checkTreesNightly = (options: CheckTreesNightly): Work => {
  const { hour, check, onChecked, leadership, system, logger } = options;

  const checkOnce = async (signal: AbortSignal): Promise<void> => {
    try {
      const checked = await check(signal);
      logResult(logger, checked);
      if (checked.verdict !== 'undecided') onChecked?.(checked.faultCount);
    } catch (error) {
      // Tomorrow again: a second try tonight would read the whole log once more.
      if (!signal.aborted) logger.warn({ err: error }, 'could not check the audit trees');
    }
  };

  return async (signal, working) => {
    let dueMs = nextTime(system.now().getTime(), hour);
    while (!signal.aborted) {
      await pause(system, dueMs - system.now().getTime(), signal);
      if (signal.aborted) return;
      if (leadership.isLeader()) await checkOnce(signal);
      working();
      // Timers may fire before the clock says so.
      dueMs = nextTime(Math.max(dueMs, system.now().getTime()), hour);
    }
  };
};

/** Automatic jobs of the audit log: signing, cosigning, mailing and checking. */

export interface AuditWork {
  /** Queries of the audit trees, and how often they are signed. Absent: nothing is signed. */
  readonly audit?: Pick<SignCheckpoints, 'intervalMs' | 'onSigned'> & {
    readonly trees: SignCheckpoints['trees'] & AskWitnesses['trees'] & MailCheckpoints['trees'];
    /** Those who are asked to cosign, and the way to them. */
    readonly witnesses: readonly Witness[];
    readonly way: AskWitnesses['way'];
  };
  /** How the audit trees are checked, and when. Absent: they are not. */
  readonly auditCheck?: Pick<CheckTreesNightly, 'hour' | 'check' | 'onChecked'>;
}

type Parts = Omit<SignCheckpoints, 'trees' | 'intervalMs' | 'onSigned'> & Omit<MailCheckpoints, 'trees' | 'everyMs'>;

/** How often each witness's new checkpoints are looked for: a query. Longer leaves them in the operator's hands alone. */
const ASK_WITNESSES_MS = 5_000;

/** By name. */
export const auditJobs = (parts: Parts, { audit, auditCheck }: AuditWork): Readonly<Record<string, Work>> => {
  const jobs: Record<string, Work> = {};
  if (audit !== undefined) {
    const { trees, intervalMs, onSigned, witnesses, way } = audit;
    jobs['signing of checkpoints'] = signCheckpoints({ ...parts, trees, intervalMs, onSigned });
    jobs['mail of checkpoints'] = mailCheckpoints({ ...parts, trees });
    const asking = { ...parts, trees, way, everyMs: Math.min(intervalMs, ASK_WITNESSES_MS) };
    Object.assign(jobs, askWitnesses(asking, witnesses));
  }
  if (auditCheck !== undefined) jobs['check of audit trees'] = checkTreesNightly({ ...parts, ...auditCheck });
  return jobs;
};
