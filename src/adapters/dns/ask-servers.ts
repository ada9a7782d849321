import type { NameServer } from '../../domain/name-server.ts';
import { ResolverUnavailable } from '../../domain/resolver.ts';
import type { System } from '../../domain/system.ts';
import { createSlots } from '../slots.ts';
import { type AskServerOptions, createAskServer } from './ask-server.ts';
import type { Question } from './question.ts';
import { RCODE, type Reply } from './reply.ts';

export interface AskServersOptions extends AskServerOptions {
  readonly servers: readonly NameServer[];
  readonly system: Pick<System, 'monotonicMs' | 'randomBytes'>;
}

export interface Asking {
  /** The name exists or does not: nothing else is an answer. @throws {ResolverUnavailable} */
  ask(question: Question): Promise<Reply>;
  /** What is being asked is given up. */
  close(): void;
}

/** Of one question, at all servers. More keeps whoever asked waiting (4 x 2 s), fewer gives up on a lost datagram. */
const TRIES_MAX = 4;
const TRIES_EACH = 2;
/** A server that did not answer is asked last for so long: longer stays away from one that is back. */
const AVOIDED_MS = 10_000;
/** Each is a socket. More is a flood to the name server, fewer make thousands of domains wait for slow ones. */
const QUESTIONS_MAX = 256;
/** Each is a few hundred bytes. Fewer refuses bursts; more only waits longer than anybody waits for it. */
const WAITING_MAX = 10_000;

const ANSWERS: readonly number[] = [RCODE.noError, RCODE.noSuchName];
/** What servers say that do not know EDNS (RFC 6891 §7). */
const NOT_UNDERSTOOD: readonly number[] = [RCODE.formatError, RCODE.notImplemented];
const NAMES = new Map([
  [RCODE.formatError, 'FORMERR'],
  [RCODE.serverFailure, 'SERVFAIL'],
  [RCODE.notImplemented, 'NOTIMP'],
  [RCODE.refused, 'REFUSED'],
]);

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'AbortError') return 'no answer in time';
  return 'code' in error ? String(error.code) : error.message;
};

/** How one try ended. */
type Tried = { readonly reply: Reply } | { readonly reply: null; readonly reason: string; readonly edns: boolean };

/** Questions to name servers, until one answers. */
export const createAskServers = ({ servers, system, timeoutMs }: AskServersOptions): Asking => {
  const { askServer, close } = createAskServer({ system, timeoutMs });
  const slots = createSlots(QUESTIONS_MAX, WAITING_MAX);
  const silentAtMs = new Map<NameServer, number>();
  let isClosed = false;

  const isAvoided = (server: NameServer): number =>
    system.monotonicMs() - (silentAtMs.get(server) ?? Number.NEGATIVE_INFINITY) < AVOIDED_MS ? 1 : 0;

  const inOrder = (): readonly NameServer[] => {
    const ordered = servers.toSorted((one, other) => isAvoided(one) - isAvoided(other));
    return Array.from({ length: TRIES_EACH }, () => ordered)
      .flat()
      .slice(0, TRIES_MAX);
  };

  const tryServer = async (server: NameServer, question: Question, edns: boolean): Promise<Tried> => {
    try {
      const reply = await askServer({ server, question, edns });
      if (ANSWERS.includes(reply.rcode)) return { reply };
      const reason = NAMES.get(reply.rcode) ?? `RCODE ${reply.rcode}`;
      return { reply: null, reason, edns: edns && !NOT_UNDERSTOOD.includes(reply.rcode) };
    } catch (error) {
      silentAtMs.set(server, system.monotonicMs());
      return { reply: null, reason: reasonOf(error), edns };
    }
  };

  const unavailable = ({ type, name }: Question, reasons: readonly string[]): ResolverUnavailable => {
    const reason = isClosed ? 'the resolver is closed' : [...new Set(reasons)].join(', ');
    return new ResolverUnavailable(`DNS does not answer for ${type} ${name}: ${reason}`);
  };

  const askAll = async (question: Question): Promise<Reply> => {
    const reasons: string[] = [];
    let edns = true;
    for (const server of inOrder()) {
      if (isClosed) break;
      const tried = await tryServer(server, question, edns);
      if (tried.reply !== null) return tried.reply;
      edns = tried.edns;
      reasons.push(tried.reason);
    }
    throw unavailable(question, reasons);
  };

  return {
    ask: async (question) => {
      if (!(await slots.take())) throw new ResolverUnavailable('too many DNS questions wait for an answer');
      try {
        return await askAll(question);
      } finally {
        slots.free();
      }
    },
    close: () => {
      isClosed = true;
      close();
    },
  };
};
