import type { Analysis, Finding } from '../analysis/analysis.ts';
import { type Details, DomainError } from '../kernel/errors.ts';
import type { MessageEvent } from '../kernel/events.ts';
import { requireUnsuspended, type Suspension } from '../organization/organization.ts';
import { requireSchedulable } from './change-message.ts';
import { customerEventCount, type Message } from './message.ts';

type Accepted = Extract<MessageEvent, { type: 'MessageAccepted' }>['data'];

export interface AcceptMessage {
  readonly accepted: Omit<Accepted, 'sequence'>;
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
    const problem = `domain ${accepted.fromDomain} is not verified`;
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
    throw new DomainError('idempotency_key_reused', 'this Idempotency-Key was used with another request body');
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
