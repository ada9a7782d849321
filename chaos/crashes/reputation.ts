import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiAnswer, askIn, untilAnswered } from '../harness/asking.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { asOperator } from './as-operator.ts';
import { inWorld } from './in-world.ts';

/** Smaller numbers are not evaluated. */
const MESSAGES = 208;
/** The first messages bounce, enough to be too many as soon as the domain is evaluated. */
const BOUNCES = 12;
const LATER = 4;
/** Reputation has been evaluated again by then. */
const JUDGED_MS = 6_000;

const violation = (what: string): Violation => ({ promise: 'scenario', what });

const isPaused = ({ status, text }: ApiAnswer): boolean => status === 200 && JSON.parse(text).level === 'paused';
const isKeptBack = ({ text }: ApiAnswer): boolean => text.includes('bulk mail of the sending domain is paused');
const isDone = ({ status }: ApiAnswer): boolean => status === 200;

/**
 * One event must pause the domain and one release it, with nothing and no mail in between. (An organization with one
 * domain gets no level of its own.)
 */
const pausedOnce = ({ events }: Evidence, later: readonly string[]): readonly Violation[] => {
  const said = events.flatMap(({ type, stream }) => (stream.startsWith('reputation-') ? [type] : []));
  const released = events.findIndex(({ type }) => type === 'SendingReleased');
  const early = events
    .slice(0, released)
    .filter(({ type, data }) => type === 'AttemptStarted' && later.includes(data.messageId));
  return [
    ...(said.join() === 'SendingPaused,SendingReleased' ? [] : [violation(`its reputation went ${said}`)]),
    ...early.map(({ stream }) => violation(`${stream} left while its domain was paused`)),
  ];
};

const diesAt = (point: FailPointName): Scenario => {
  let later: readonly string[] = [];
  return {
    name: `killed ${point} by a list that bounces`,
    run: () =>
      inWorld(
        {},
        async (world) => {
          const { programs, load, sink } = world;
          let left = BOUNCES;
          sink.whenever({ command: 'RCPT', when: 'arrived' }, () => {
            left -= 1;
            return left >= 0 ? { reply: '550 5.1.1 no such mailbox' } : undefined;
          });
          const { domainId } = await asOperator(world, async (_operator, own) => own);
          await programs.startToDie({ OUTBOX_FAIL_POINT: point });
          await load.bulk(MESSAGES);
          await programs.died();
          await programs.start();
          const ask = askIn(world);
          await untilAnswered(ask, { path: `/v1/domains/${domainId}/reputation` }, isPaused);
          await load.settle();
          await sleep(JUDGED_MS);
          const before = load.accepted.length;
          await load.bulk(LATER);
          later = load.accepted.slice(before).map(({ id }) => id);
          for (const id of later) await untilAnswered(ask, { path: `/v1/messages/${id}/explain` }, isKeptBack);
          await untilAnswered(ask, { path: `/v1/domains/${domainId}/release`, body: {} }, isDone);
        },
        { more: (evidence) => pausedOnce(evidence, later) },
      ),
  };
};

/**
 * After a crash the evaluation finds what was recorded and records it once. A pause outlives the process that decided
 * it.
 */
export const REPUTATION_CRASHES: readonly Scenario[] = (
  ['before-append-reputation', 'after-append-reputation'] as const
).map(diesAt);
