import type { System } from '../../../domain/ports/system.ts';
import type { SmtpConnectFailed } from '../smtp-session.ts';

/**
 * How long an address is thought dead, and tried after all others of its domain. Longer keeps mail off the better
 * server, shorter makes more of it wait for the time-out.
 */
const AVOIDED_MS = 300_000;
/** So long it is not even tried again: of a thousand messages for a dead server, one after the other would wait. */
const FAILED_MS = 5_000;
/** Where more servers are dead than that, the one that died first is tried again. */
const ADDRESSES_MAX = 10_000;

interface Failure {
  readonly atMs: number;
  readonly error: SmtpConnectFailed;
}

/** Remembers which addresses did not answer. */
export const createUnreachableAddresses = (system: Pick<System, 'monotonicMs'>) => {
  /** In the order of their times. */
  const failures = new Map<string, Failure>();

  const within = (address: string, ms: number): SmtpConnectFailed | null => {
    const failure = failures.get(address);
    return failure !== undefined && system.monotonicMs() - failure.atMs < ms ? failure.error : null;
  };

  return {
    add: (address: string, error: SmtpConnectFailed): void => {
      failures.delete(address);
      failures.set(address, { atMs: system.monotonicMs(), error });
      for (const oldest of failures.keys()) {
        if (failures.size <= ADDRESSES_MAX) break;
        failures.delete(oldest);
      }
    },
    answers: (address: string): void => {
      failures.delete(address);
    },
    isAvoided: (address: string): boolean => within(address, AVOIDED_MS) !== null,
    /** Why it failed a moment ago. */
    justFailed: (address: string): SmtpConnectFailed | null => within(address, FAILED_MS),
  };
};

export type UnreachableAddresses = ReturnType<typeof createUnreachableAddresses>;
