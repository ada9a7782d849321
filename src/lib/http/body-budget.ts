import type { Readable } from 'node:stream';
import { createFairQueue, ENDED } from '../async/async.ts';

/**
 * Bounds the memory for request bodies in flight. Memory for a whole body is reserved before its first byte is read, so
 * that bodies never starve each other half-way. Small bodies overtake; large ones wait in a fair queue between
 * organizations. An organization holds a share of the memory for large bodies and one of all of it, for small ones at most as
 * much as is free.
 */
export interface BodyBudget {
  /**
   * Waits some seconds for memory if `waits`.
   * @param organizationId whose share it counts against.
   * @param signal aborted when the reservation is no longer needed.
   * @returns null: no memory available; nothing is reserved.
   */
  reserve(organizationId: string, bytes: number, how: How): Promise<Reservation | null>;
  /** Like `reserve`, but without waiting. */
  reserveNow(organizationId: string, bytes: number): Reservation | null;
  /** Bytes reserved now. */
  held(): number;
}

interface How {
  readonly waits: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The end of a body's need for memory: the client has disconnected, or the body is refused. */
export interface BodyEnd {
  /** Created on first use, because most bodies get memory without waiting. */
  signal(): AbortSignal;
  abort(): void;
}

export const endOf = (payload: Readable): BodyEnd => {
  let made: AbortController | undefined;
  const make = (): AbortController => {
    const ended = new AbortController();
    if (payload.destroyed) ended.abort(ENDED);
    else payload.once('close', () => ended.abort(ENDED));
    return ended;
  };
  return {
    signal: () => {
      made ??= make();
      return made.signal;
    },
    abort: () => made?.abort(ENDED),
  };
};

export interface Reservation {
  bytes(): number;
  /** Releases what exceeds this. */
  shrink(bytes: number): void;
  /** Releases all of it. Idempotent. */
  release(): void;
}

interface BudgetLimits {
  readonly bytesMax: number;
  /** For all large bodies together. */
  readonly largeBytesMax: number;
  /** For the large bodies of one organization. */
  readonly organizationBytesMax: number;
  /** For the small bodies of one organization. */
  readonly organizationSmallBytesMax: number;
  /** Longer keeps clients hanging, shorter refuses bodies that would have had their turn. */
  readonly patienceMs: number;
}

/** Each byte costs a few more while it is parsed and stored. Higher endangers the process, lower refuses large mail. */
export const BODIES_IN_FLIGHT_BYTES_MAX = 128_000_000;
/** Bodies up to this size overtake large ones. Higher: less memory for large ones. Lower: ordinary HTML mail waits. */
export const SMALL_BODY_BYTES_MAX = 256_000;
export const BODY_LIMITS: BudgetLimits = {
  bytesMax: BODIES_IN_FLIGHT_BYTES_MAX,
  // The rest is for small bodies.
  largeBytesMax: 112_000_000,
  // One body of the largest kind of another organization always fits beside it.
  organizationBytesMax: 80_000_000,
  // 125 of the largest, thousands of ordinary ones. More: less is left for others. Less: a busy one waits for its own.
  organizationSmallBytesMax: 32_000_000,
  patienceMs: 10_000,
};
/** Each is an open request. More would not have their turn in time. */
const WAITING_PER_ORGANIZATION_MAX = 64;
const WAITING_MAX = 512;

interface ReservationRequest {
  readonly organizationId: string;
  readonly bytes: number;
}

interface WaitingReservation extends ReservationRequest {
  readonly settle: (reservation: Reservation | null) => void;
}

export const createBodyBudget = (limits: BudgetLimits = BODY_LIMITS): BodyBudget => {
  const queue = createFairQueue<WaitingReservation>();
  /** By organization; none of them is 0. */
  const largeHeldBy = new Map<string, number>();
  const smallHeldBy = new Map<string, number>();
  let held = 0;

  const addTo = (counts: Map<string, number>, organizationId: string, difference: number): void => {
    const total = (counts.get(organizationId) ?? 0) + difference;
    if (total === 0) counts.delete(organizationId);
    else counts.set(organizationId, total);
  };

  const isLarge = (bytes: number): boolean => bytes > SMALL_BODY_BYTES_MAX;
  const fits = (bytes: number): boolean => held + bytes <= (isLarge(bytes) ? limits.largeBytesMax : limits.bytesMax);

  const grant = ({ organizationId, bytes: wanted }: ReservationRequest): Reservation => {
    let bytes = 0;
    const change = (difference: number): void => {
      bytes += difference;
      held += difference;
      addTo(isLarge(wanted) ? largeHeldBy : smallHeldBy, organizationId, difference);
    };
    change(wanted);
    const shrink = (left: number): void => {
      if (left >= bytes) return;
      change(left - bytes);
      serve();
    };
    return { bytes: () => bytes, shrink, release: () => shrink(0) };
  };

  /** Memory that an organization may hold for bodies of such a size. */
  const shareOf = (bytes: number): number =>
    isLarge(bytes) ? limits.organizationBytesMax : Math.min(limits.organizationSmallBytesMax, limits.bytesMax - held);

  const isWithinShare = ({ organizationId, bytes }: ReservationRequest): boolean =>
    ((isLarge(bytes) ? largeHeldBy : smallHeldBy).get(organizationId) ?? 0) + bytes <= shareOf(bytes);

  /** The next in line is never overtaken: memory for it would never become free otherwise. */
  const serve = (): void => {
    for (let next = queue.peek(isWithinShare); next !== undefined; next = queue.peek(isWithinShare)) {
      if (!fits(next.bytes)) return;
      queue.shift(isWithinShare);
      next.settle(grant(next));
    }
  };

  const canWait = ({ organizationId, bytes }: ReservationRequest, { waits, signal }: How): boolean =>
    waits &&
    signal?.aborted !== true &&
    bytes <= Math.min(limits.largeBytesMax, limits.organizationBytesMax) &&
    queue.size < WAITING_MAX &&
    queue.sizeOf(organizationId) < Math.min(WAITING_PER_ORGANIZATION_MAX, WAITING_MAX - queue.size);

  const wait = (wanted: ReservationRequest, { signal }: How): Promise<Reservation | null> =>
    new Promise((resolve) => {
      const giveUp = (): void => {
        queue.remove(waiting.organizationId, waiting);
        waiting.settle(null);
        serve();
      };
      const timer = setTimeout(giveUp, limits.patienceMs);
      signal?.addEventListener('abort', giveUp, { once: true });
      const waiting: WaitingReservation = {
        ...wanted,
        settle: (reservation) => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', giveUp);
          resolve(reservation);
        },
      };
      queue.push(waiting.organizationId, waiting);
    });

  const reserveNow: BodyBudget['reserveNow'] = (organizationId, bytes) => {
    const wanted = { organizationId, bytes };
    const overtakesNobody = !isLarge(bytes) || queue.size === 0;
    return overtakesNobody && fits(bytes) && isWithinShare(wanted) ? grant(wanted) : null;
  };

  return {
    reserveNow,
    reserve: async (organizationId, bytes, how) => {
      const granted = reserveNow(organizationId, bytes);
      if (granted !== null) return granted;
      const wanted = { organizationId, bytes };
      if (!canWait(wanted, how)) return null;
      const reservation = wait(wanted, how);
      serve();
      return reservation;
    },
    held: () => held,
  };
};
