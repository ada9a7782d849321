import { Readable } from 'node:stream';
import type { SMTPServerDataStream } from 'smtp-server';
import { describe, expect, test } from 'vitest';
import { type BodyBudget, createBodyBudget } from '../../src/lib/http/body-budget.ts';
import { MESSAGE_BYTES_MAX, receiveMessage } from '../../src/submission/submit-message.ts';

const KILOBYTE = 1_000;

/** A budget that records the requested reservations. */
const recorded = () => {
  const budget = createBodyBudget();
  const asked: number[] = [];
  const bodies: BodyBudget = {
    ...budget,
    reserve: (organizationId, bytes, how) => {
      asked.push(bytes);
      return budget.reserve(organizationId, bytes, how);
    },
  };
  return { bodies, asked };
};

const streamOf = (pieces: readonly Buffer[]) => Readable.from(pieces) as unknown as SMTPServerDataStream;

describe('bytes reserved for a message', () => {
  test.each([
    ['that is as large as declared', 10, 10, [10 * KILOBYTE]],
    ['that is larger than declared, and small', 10, 11, [10 * KILOBYTE, 256 * KILOBYTE]],
    ['that is larger than declared, and large', 10, 300, [10 * KILOBYTE, 256 * KILOBYTE, MESSAGE_BYTES_MAX]],
    ['of which nothing is declared', null, 200, [256 * KILOBYTE]],
  ])('%s grow with what has arrived', async (_what, declared, sent, reservations) => {
    const { bodies, asked } = recorded();
    const pieces = Array.from({ length: sent }, () => Buffer.alloc(KILOBYTE, 'x'));
    const declaredBytes = declared === null ? null : declared * KILOBYTE;
    const { chunks, reservation } = await receiveMessage(streamOf(pieces), {
      bodies,
      organizationId: 'org_a',
      declaredBytes,
    });
    expect(Buffer.concat(chunks)).toHaveLength(sent * KILOBYTE);
    expect(asked).toEqual(reservations);
    reservation.release();
    expect(bodies.held()).toBe(0);
  });
});
