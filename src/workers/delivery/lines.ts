import type { Due } from './delivery-job.ts';
import type { Allowances, DeparturesOptions } from './departures.ts';
import type { Destinations } from './destinations.ts';
import type { Pacer } from './pacer.ts';

/** How what is due waits for its turn: in one line for the server that takes everything, or in one for each operator. */
export interface Lines extends Allowances, Pick<DeparturesOptions, 'inHandMax' | 'waitingMax'> {
  /** Name of the line. */
  of(due: Due): Promise<string> | string;
  /** What waits is left in the queue: its job ends when it has departed. False: some may be slow, it waits here alone. */
  readonly areInQueue: boolean;
}

/**
 * Messages between claim and answer at the same time. A claim's lease runs while it waits for one of the transport's
 * sessions: more wait longer, fewer leave sessions idle and processors waiting for commits. So many leave
 * as quickly as they are accepted, and read models write their rows once.
 */
const IN_HAND_MAX = 128;
/** Where destinations have servers of their own, which wait for each other's answers: most of it is waiting. */
const IN_HAND_MAX_OF_MANY = 1_000;
/**
 * For one of many destinations: more would hold ids of messages that the timetable has anyway, fewer leave a quick one
 * waiting for the next sweep.
 */
const WAITING_MAX = 256;

const ANY = 'any';

const ONE_LINE: Lines = {
  ...{ inHandMax: IN_HAND_MAX, waitingMax: Number.POSITIVE_INFINITY, areInQueue: true },
  limitOf: () => IN_HAND_MAX,
  waitMsOf: () => 0,
  roomOf: () => Number.POSITIVE_INFINITY,
  begun: () => undefined,
  of: () => ANY,
};

/** @param destinations absent: one server takes everything. */
export const linesTo = (
  destinations: Destinations | undefined,
  pacer: Allowances & Pick<Pacer, 'destinationOf'>,
): Lines =>
  destinations === undefined
    ? ONE_LINE
    : {
        ...{ inHandMax: IN_HAND_MAX_OF_MANY, waitingMax: WAITING_MAX, areInQueue: false },
        limitOf: (operator) => (operator === ANY ? IN_HAND_MAX : pacer.limitOf(operator)),
        ...{ waitMsOf: pacer.waitMsOf, roomOf: pacer.roomOf, begun: pacer.begun },
        // What has expired is not sent, and what is simulated goes nowhere.
        of: ({ destination, isExpired }) =>
          destination === null || isExpired === true ? ANY : pacer.destinationOf(destination, destinations),
      };
