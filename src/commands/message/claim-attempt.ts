import type { MessageEvent } from '../../domain/events.ts';
import { claimable, claimAttempt as decideClaimAttempt, type Hold } from '../../domain/message/claim-attempt.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { isOpen, type Recipient } from '../../domain/message/recipient.ts';
import { messageStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin } from '../context.ts';
import { execute, type Loaded, load } from '../execute.ts';
import { suppressedRecipients } from '../suppression/suppressed-recipients.ts';

/** A claimed message, or none. */
export type Claim =
  | {
      readonly claimed: true;
      readonly message: Loaded<ExistingMessage>;
      readonly attempt: number;
      readonly recipientIds: readonly string[];
      readonly events: readonly MessageEvent[];
    }
  /** `events`: what was recorded instead. */
  | { readonly claimed: false; readonly events: readonly MessageEvent[] };

/** Workers act on a message for the organization it belongs to. */
export const workerOrigin = ({ organizationId, environment, accepted }: ExistingMessage, job: string): Origin =>
  internalOrigin({ actor: `worker:${job}`, organizationId, environment, causeId: accepted.messageId });

type Started = Extract<MessageEvent, { type: 'AttemptStarted' }>;
const isStarted = (event: MessageEvent): event is Started => event.type === 'AttemptStarted';

export interface ClaimAttempt {
  readonly messageId: string;
  /** Only recipients of this domain. Absent: all. */
  readonly destination?: string | undefined;
  /** How long no other worker may send; longer than any attempt takes. */
  readonly leaseMs: number;
  /** In [0, 1). */
  readonly random: number;
  /** Whether the sending domain was deleted. Absent: never. */
  isDomainDeleted?(message: ExistingMessage): boolean;
  /** Why due recipients must wait; null: they need not. Absent: none must. */
  holdOf?(message: ExistingMessage, recipients: readonly Recipient[]): Promise<Hold | null> | Hold | null;
  /** The message as loaded before, possibly stale: saves the read. */
  readonly known?: Loaded<Message> | undefined;
}

/** Claims the next attempt by appending `AttemptStarted` at the revision read, so one worker gets it. */
export const claimAttempt = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { messageId, destination, leaseMs, random, isDomainDeleted, holdOf, ...at }: ClaimAttempt,
): Promise<Claim> => {
  const stream = messageStream(messageId);
  const known = at.known ?? (await load(context.store, message, stream));
  if (known.state.status === 'absent') return { claimed: false, events: [] };
  const now = context.system.now();
  const leaseUntil = new Date(now.getTime() + leaseMs).toISOString();
  const domainDeleted = isDomainDeleted?.(known.state) ?? false;
  const open = known.state.recipients.filter(
    ({ status, domain }) => isOpen(status) && (destination === undefined || domain === destination),
  );
  const suppressed = await suppressedRecipients(
    context,
    known.state,
    open.map(({ id }) => id),
  );
  const due = claimable(known.state, { destination, now: now.toISOString(), domainDeleted, suppressed });
  const held = due.length === 0 ? null : ((await holdOf?.(known.state, due)) ?? null);
  const { state, revision, events } = await execute(context, {
    aggregate: message,
    stream,
    context: eventContext(workerOrigin(known.state, 'deliver-message'), now.toISOString()),
    decide: (before) =>
      decideClaimAttempt(before, {
        destination,
        now: now.toISOString(),
        leaseUntil,
        random,
        domainDeleted,
        suppressed,
        held,
      }),
    known,
  });
  const started = events.find(isStarted);
  if (started === undefined || state.status === 'absent') return { claimed: false, events };
  const { attempt, recipientIds } = started.data;
  return { claimed: true, message: { state, revision }, attempt, recipientIds, events };
};
