import { LOCAL_ATTEMPT_TIMES } from '../../../src/workers/create-workers.ts';
import { EVERYBODY } from '../ground.ts';
import type { LogEntry } from '../parts/log.ts';
import type { Copy } from '../parts/post-office.ts';
import type { World } from '../world.ts';

/** State of a recipient according to the log so far. */
interface RecipientState {
  readonly internetMessageId: string;
  /** False for mail of test keys, which is not sent. */
  readonly leaves: boolean;
  /** Claims by attempt number. */
  readonly claims: Map<number, Claim>;
  /** Attempts with an unknown outcome, and since when. */
  readonly inDoubt: Map<number, number>;
  deliveredBy: number | null;
  cancelledMs: number;
}

interface Claim {
  readonly by: string;
  readonly atMs: number;
}

export interface MailWatch {
  /** Checks that are possible only at rest. */
  judge(): void;
}

const createKnowledge = ({ log, violate }: World): ReadonlyMap<string, RecipientState> => {
  const recipients = new Map<string, RecipientState>();

  const each = (ids: readonly string[], change: (known: RecipientState) => void): void => {
    for (const id of ids) {
      const known = recipients.get(id);
      if (known !== undefined) change(known);
    }
  };

  const learn = ({ event, atMs, writer }: LogEntry): void => {
    switch (event.type) {
      case 'MessageAccepted':
        for (const { id } of event.data.recipients) {
          const about = {
            internetMessageId: event.data.internetMessageId,
            leaves: event.metadata.environment !== 'test',
          };
          const nothing = { claims: new Map(), inDoubt: new Map(), deliveredBy: null };
          recipients.set(id, { ...about, ...nothing, cancelledMs: Number.POSITIVE_INFINITY });
        }
        break;
      case 'AttemptStarted': {
        const { attempt, recipientIds } = event.data;
        const claim: Claim = { by: writer, atMs };
        each(recipientIds, ({ claims }) => claims.set(attempt, claim));
        break;
      }
      case 'AttemptOutcomeUnknown': {
        const { attempt, recipientIds } = event.data;
        each(recipientIds, ({ inDoubt }) => inDoubt.set(attempt, atMs));
        break;
      }
      case 'RecipientDelivered': {
        const { attempt, recipientId } = event.data;
        each([recipientId], (known) => {
          known.deliveredBy = attempt;
          const by = known.claims.get(attempt)?.by;
          if (by !== writer) violate('one copy', `${writer} wrote what came of an attempt of ${recipientId} by ${by}`);
        });
        break;
      }
      case 'RecipientCancelled':
        each([event.data.recipientId], (known) => {
          known.cancelledMs = atMs;
        });
        break;
      default:
    }
  };

  log.onEvent(learn);
  return recipients;
};

/** The rule that a copy breaks when it is accepted; null: it breaks none. */
const problemOf = (copy: Copy, known: RecipientState | undefined): string | null => {
  if (known === undefined) return 'was never accepted';
  const claim = known.claims.get(copy.attempt);
  if (copy.internetMessageId !== known.internetMessageId) return 'has another Message-ID than was accepted';
  if (claim === undefined) return `was sent without a claim to attempt ${copy.attempt}`;
  if (claim.by !== copy.sender) return `was sent by ${copy.sender}, and ${claim.by} had claimed it`;
  if (copy.leftMs >= claim.atMs + LOCAL_ATTEMPT_TIMES.attemptMs) return 'left after its deadline';
  if (known.cancelledMs < copy.leftMs) return 'left after it was cancelled';
  return null;
};

/** Follows every copy and reports those that should not exist. */
export const watchMail = (world: World): MailWatch => {
  const { ground, office, violate } = world;
  const recipients = createKnowledge(world);

  office.onCopy((copy) => {
    const problem = problemOf(copy, recipients.get(copy.recipientId));
    if (problem !== null) violate('no strange mail', `a copy for ${copy.recipientId} ${problem}`);
  });

  /** True if a fault affected the sender between the claim and the moment the attempt was given up. */
  const isExcused = (claim: Claim, untilMs: number): boolean =>
    ground
      .disturbances()
      .some(
        ({ process, atMs }) => (process === claim.by || process === EVERYBODY) && atMs >= claim.atMs && atMs <= untilMs,
      );

  const judgeCopy = ({ attempt }: Copy, known: RecipientState): string | null => {
    if (known.deliveredBy === attempt) return null;
    const doubtMs = known.inDoubt.get(attempt);
    const claim = known.claims.get(attempt);
    if (doubtMs === undefined || claim === undefined)
      return `got a copy by attempt ${attempt}, of which the log does not tell`;
    if (!isExcused(claim, doubtMs)) {
      return `got a copy by attempt ${attempt}, which was given up for no reason`;
    }
    return null;
  };

  /** A recipient recorded as delivered must have received a copy. */
  const judgeDelivery = (id: string, { deliveredBy, leaves }: RecipientState, copies: readonly Copy[]): void => {
    if (!leaves || deliveredBy === null || copies.some(({ attempt }) => attempt === deliveredBy)) return;
    violate('accepted is settled', `${id} was delivered by attempt ${deliveredBy}, and no copy came`);
  };

  const judgeRecipient = (id: string, known: RecipientState, copies: readonly Copy[]): void => {
    const attempts = new Set(copies.map(({ attempt }) => attempt));
    if (attempts.size < copies.length) violate('one copy', `${id} got two copies by one attempt`);
    for (const copy of copies) {
      const problem = judgeCopy(copy, known);
      if (problem !== null) violate('one copy', `${id} ${problem}`);
    }
  };

  return {
    judge: () => {
      const copies = Map.groupBy(office.copies(), ({ recipientId }) => recipientId);
      for (const [id, known] of recipients) {
        judgeRecipient(id, known, copies.get(id) ?? []);
        judgeDelivery(id, known, copies.get(id) ?? []);
      }
    },
  };
};
