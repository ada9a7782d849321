import type { Analysis, Finding } from '../analysis/analysis.ts';
import { requireOwn } from '../kernel/aggregate.ts';
import { type Details, DomainError } from '../kernel/errors.ts';
import type { MessageEvent } from '../kernel/events.ts';
import { requireUnsuspended, type Suspension } from '../organization/organization.ts';
import { cancelRecipients } from './attempt.ts';
import { customerEventCount, type ExistingMessage, isInFlight, isOpen, type Message, withSequence } from './message.ts';

type AcceptanceData = Extract<MessageEvent, { type: 'MessageAccepted' }>['data'];

export interface AcceptMessage {
  readonly accepted: Omit<AcceptanceData, 'sequence'>;
  /** ISO 8601. */
  readonly now: string;
  /** ISO 8601; null: send immediately. */
  readonly scheduledAt: string | null;
  /** Present if the operator suspended the organization's sending. */
  readonly suspension?: Suspension | undefined;
  /** True if the domain is verified, or if mail does not leave this machine. */
  readonly sendable: boolean;
  /** Error with which the request is refused unless the message was accepted before. */
  readonly refusal: DomainError | null;
  /** The analysis if its failure must reject the message, otherwise null. */
  readonly blocking: Pick<Analysis, 'verdict' | 'findings'> | null;
}

/** Formats a finding: `html: line 2, column 7: "{{name}}" was not filled in. Fill in the variable before sending.` */
const sentenceOf = ({ field, line, column, message, fix }: Finding): string => {
  const place = line === undefined ? '' : ` line ${line}, column ${column}:`;
  return `${field}:${place} ${message} ${fix}`;
};

/** Key in the error's details, which have no index: `attachments` for `attachments[0]`. */
const nameOf = ({ field }: Finding): string => field.replace(/\[.*$/, '');

/** Errors by request field. */
const detailsOf = (findings: Analysis['findings']): Details => {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const byField = Object.entries(Object.groupBy(errors, nameOf));
  return Object.fromEntries(byField.map(([field, some = []]) => [field, [...new Set(some.map(sentenceOf))]]));
};

const requireAcceptable = ({
  accepted,
  now,
  scheduledAt,
  suspension,
  sendable,
  refusal,
  blocking,
}: AcceptMessage): void => {
  requireUnsuspended(suspension);
  if (!sendable) {
    const problem = `domain ${accepted.fromDomain} is not verified: publish its DNS records and verify it first`;
    throw new DomainError('domain_not_verified', problem, { details: { from: [problem] } });
  }
  if (scheduledAt !== null) requireSchedulable(scheduledAt, now);
  if (refusal !== null) throw refusal;
  if (blocking?.verdict === 'fail') {
    throw new DomainError('analysis_failed', 'the analysis of the message found errors: see details', {
      details: detailsOf(blocking.findings),
    });
  }
};

/**
 * Accepts a message once. Repeating the same request has no effect, even if it would be rejected now.
 * @throws {DomainError} `refusal`, `idempotency_key_reused`, `organization_suspended`, `domain_not_verified`,
 * `schedule_not_possible`, `analysis_failed`.
 */
export const acceptMessage = (state: Message, command: AcceptMessage): readonly MessageEvent[] => {
  const { accepted, scheduledAt } = command;
  if (state.status !== 'absent') {
    if (state.accepted.bodyDigest === accepted.bodyDigest) return [];
    throw new DomainError('idempotency_key_reused', 'this Idempotency-Key was already used with another request body');
  }
  requireAcceptable(command);
  const first: MessageEvent = { type: 'MessageAccepted', data: { ...accepted, sequence: 1 } };
  if (scheduledAt === null) return [first];
  const { messageId, contentId, expiresAt, recipients } = accepted;
  const recipientIds = recipients.map(({ id }) => id);
  const sequence = first.data.sequence + customerEventCount(first);
  return [
    first,
    { type: 'MessageScheduled', data: { messageId, contentId, sequence, recipientIds, scheduledAt, expiresAt } },
  ];
};

/** Decisions of a customer about an accepted message: cancel or reschedule it. */

/** Higher: the vault keeps contents of mail that may never be wanted. Lower: a monthly newsletter is rejected. */
export const SCHEDULE_DAYS_MAX = 30;
const DAY_MS = 86_400_000;

const scheduleProblem = (scheduledAtMs: number, nowMs: number): string | null => {
  if (scheduledAtMs <= nowMs) return 'scheduled_at must be in the future';
  if (scheduledAtMs > nowMs + SCHEDULE_DAYS_MAX * DAY_MS) {
    return `scheduled_at must be at most ${SCHEDULE_DAYS_MAX} days ahead`;
  }
  return null;
};

/**
 * Both times are ISO 8601.
 * @throws {DomainError} `schedule_not_possible` unless a message accepted now could be sent at that time.
 */
export const requireSchedulable = (scheduledAt: string, now: string): void => {
  const problem = scheduleProblem(Date.parse(scheduledAt), Date.parse(now));
  if (problem === null) return;
  throw new DomainError('schedule_not_possible', problem, { details: { scheduled_at: [problem] } });
};

const beingSent = (): DomainError => new DomainError('message_being_sent', 'the message is being sent at this moment');
const allEnded = (): DomainError =>
  new DomainError('message_ended', 'the message has ended for all of its recipients: send a new message');

/** Stored in events: changing it would leave the earlier text in them. */
export const CANCELLED_BY_SENDER = 'cancelled by its sender';

interface CancelMessage {
  readonly organizationId: string;
  /** Absent: cancel all recipients on the sender's behalf. */
  readonly only?: { readonly recipientIds: readonly string[]; readonly reason: string } | undefined;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Cancels every recipient without a final outcome, or the given ones. A repeated call has no effect, so that a retry
 * gets the same response.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent` (nothing is cancelled),
 * `message_ended`.
 */
export const cancelMessage = (
  state: Message,
  { organizationId, only, now }: CancelMessage,
): readonly MessageEvent[] => {
  const message = requireOwn(state, organizationId, 'message');
  if (isInFlight(message.recipients, now)) throw beingSent();
  const meant = message.recipients.filter(({ id }) => only?.recipientIds.includes(id) ?? true);
  if (meant.some(({ status }) => isOpen(status)))
    return cancelRecipients(message, meant, { reason: only?.reason ?? CANCELLED_BY_SENDER, now });
  if (meant.some(({ status }) => status === 'cancelled')) return [];
  throw allEnded();
};

interface RescheduleMessage extends Omit<CancelMessage, 'only'> {
  /** ISO 8601. */
  readonly scheduledAt: string;
}

const notScheduled = ({ recipients }: ExistingMessage, now: string): DomainError => {
  if (isInFlight(recipients, now)) return beingSent();
  if (recipients.some(({ status }) => isOpen(status))) {
    return new DomainError('message_not_scheduled', 'the message is not waiting for a scheduled time');
  }
  return allEnded();
};

/**
 * Reschedules a message. Its time to live starts at the new time and keeps its length. The same time is no change.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`,
 * `message_not_scheduled`, `schedule_not_possible`.
 */
export const rescheduleMessage = (
  state: Message,
  { organizationId, scheduledAt, now }: RescheduleMessage,
): readonly MessageEvent[] => {
  const message = requireOwn(state, organizationId, 'message');
  const { schedule, accepted, recipients } = message;
  const recipientIds = recipients.filter(({ status }) => status === 'scheduled').map(({ id }) => id);
  if (schedule === null || recipientIds.length === 0) throw notScheduled(message, now);
  if (schedule.current === scheduledAt) return [];
  requireSchedulable(scheduledAt, now);
  const expiresAt = new Date(Date.parse(scheduledAt) + message.timeToLiveMs).toISOString();
  const { messageId, contentId } = accepted;
  const data = { messageId, contentId, recipientIds, scheduledAt, expiresAt };
  return withSequence(message, [{ type: 'MessageRescheduled', data }]);
};
