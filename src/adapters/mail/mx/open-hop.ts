import type { ConnectionOptions } from 'node:tls';
import { createGreetingPatience, type GreetingTimes } from '../greeting-patience.ts';
import { openSmtpSession, SmtpConnectFailed, type SmtpSession } from '../smtp-session.ts';
import type { Hop } from './session-pools.ts';
import type { UnreachableAddresses } from './unreachable-addresses.ts';

export interface OpenHopOptions {
  readonly unreachable: UnreachableAddresses;
  readonly ehloName: string;
  readonly connectMs: number;
  readonly greeting: GreetingTimes;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
}

/** It took no connection, or said nothing on it; what fails after TLS is about who it is. */
const isDead = ({ side, reply, isTlsBroken }: SmtpConnectFailed): boolean =>
  side !== null && side.tls === null && reply.code === 0 && !isTlsBroken;

/** Opens sessions, and remembers who did not answer. */
export const createOpenHop = ({ unreachable, ehloName, connectMs, greeting, tls }: OpenHopOptions) => {
  const patience = createGreetingPatience(greeting);
  /** Sessions by address: a server that has some takes no more of them, and is not dead. */
  const alive = new Map<string, number>();

  const count = (address: string, change: 1 | -1): void => {
    const sessions = (alive.get(address) ?? 0) + change;
    if (sessions === 0) alive.delete(address);
    else alive.set(address, sessions);
  };

  const note = (address: string, error: unknown): void => {
    if (!(error instanceof SmtpConnectFailed)) return;
    patience.failed(address, error);
    if (isDead(error) && !alive.has(address)) unreachable.add(address, error);
  };

  const open = async (hop: Hop, address: string, signal: AbortSignal, onEnd: () => void): Promise<SmtpSession> => {
    let isOpened = false;
    const end = (): void => {
      if (isOpened) count(address, -1);
      onEnd();
    };
    const common = { target: hop.target, ehloName, connectMs, greetingMs: patience.msOf(address), onEnd: end };
    const session = await openSmtpSession({ ...common, ...(tls && { tls }) }, signal);
    isOpened = true;
    count(address, 1);
    return session;
  };

  /** @throws {SmtpConnectFailed} at once, where it has failed a moment ago. */
  return async (hop: Hop, signal: AbortSignal, onEnd: () => void): Promise<SmtpSession> => {
    const { address = hop.target.host } = hop.target;
    const failed = unreachable.justFailed(address);
    if (failed !== null) throw new SmtpConnectFailed(failed.reply);
    try {
      const session = await open(hop, address, signal, onEnd);
      unreachable.answers(address);
      return session;
    } catch (error) {
      if (!signal.aborted) note(address, error); // else there was no time to answer
      throw error;
    }
  };
};
