import { finished } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import { DomainError } from '../domain/kernel/errors.ts';
import { createSemaphore, createShares } from '../lib/async/async.ts';

/**
 * Bounds of answers that are large or last long. A large answer is in memory until its client has read it; an export holds one
 * page, for as long as the client takes. Each organization has a share, so that slow clients of one use up its own.
 */

/** Large answers in memory, some 50 MB each at most. Higher: they exhaust the memory. Lower: clients wait for each other. */
const LARGE_ANSWERS_MAX = 16;
/** Higher: others wait for slow clients of one organization. Lower: its own requests wait for each other. */
const LARGE_ANSWERS_PER_ORGANIZATION_MAX = 4;
/** Each is an open request. Higher: they would not have their turn in time. Lower: short peaks are refused. */
const WAITING_MAX = 256;
/** Higher: the rest of the deadline is too short for the answer. Lower: short peaks are refused. */
const WAIT_MS_MAX = 6_000;
/** Exports in progress, some megabytes each. Higher: memory. Lower: auditors wait for each other. */
const EXPORTS_MAX = 32;
/** Higher: few organizations take all places. Lower: an organization cannot export several lists at once. */
const EXPORTS_PER_ORGANIZATION_MAX = 4;

/** A client that reads nothing for as long is cut off. Higher: few slow clients hold all places. Lower: bad networks fail. */
const SILENCE_MS_MAX = 60_000;

const RETRY_AFTER_SECONDS = 30;

type Reply = Pick<FastifyReply, 'raw'>;

export interface LargeAnswers {
  /**
   * Makes an answer when the organization's turn comes. Its place is free again when the reply has ended.
   * @throws {DomainError} `unavailable`: its turn did not come in time.
   */
  make<Answer>(organizationId: string, reply: Reply, answer: () => Promise<Answer>): Promise<Answer>;
  /**
   * Counts an export until its reply has ended.
   * @throws {DomainError} `rate_limit_exceeded`: the share is used up; `unavailable`: there are too many in all.
   */
  beginExport(organizationId: string, reply: Reply): void;
}

const tooMany = (): DomainError =>
  new DomainError('unavailable', 'too many large answers are being read: send fewer requests at once');

export interface LargeAnswersOptions {
  /** Default: `SILENCE_MS_MAX`. */
  readonly silenceMsMax?: number;
}

export const createLargeAnswers = ({ silenceMsMax = SILENCE_MS_MAX }: LargeAnswersOptions = {}): LargeAnswers => {
  /** Resolves when all of it was written, or its client is gone or reads nothing for too long. */
  const ended = ({ raw }: Reply): Promise<void> => {
    raw.setTimeout(silenceMsMax, () => raw.destroy());
    return finished(raw).catch(() => undefined);
  };

  const answers = createSemaphore({
    capacity: LARGE_ANSWERS_MAX,
    share: LARGE_ANSWERS_PER_ORGANIZATION_MAX,
    waitingMax: WAITING_MAX,
    busy: tooMany,
    timeout: { ms: WAIT_MS_MAX, error: tooMany },
  });
  const exports = createShares({ max: EXPORTS_MAX, shares: { organization: EXPORTS_PER_ORGANIZATION_MAX } });

  return {
    make: (organizationId, reply, answer) =>
      new Promise((resolve, reject) => {
        const hold = async (): Promise<void> => {
          await answer().then(resolve, reject);
          await ended(reply);
        };
        answers.run(hold, 1, organizationId).catch(reject);
      }),
    beginExport: (organizationId, reply) => {
      const place = exports.take({ organization: organizationId });
      if (!('full' in place)) return void ended(reply).then(place.release);
      const again = { retryAfterSeconds: RETRY_AFTER_SECONDS };
      if (place.full === 'all')
        throw new DomainError('unavailable', 'too many exports are in progress: try again later', again);
      throw new DomainError(
        'rate_limit_exceeded',
        'this organization has too many exports in progress: wait until one has ended',
        again,
      );
    },
  };
};
