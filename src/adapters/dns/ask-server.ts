import type { NameServer } from '../../domain/name-server.ts';
import type { System } from '../../domain/system.ts';
import { askByTcp } from './ask-by-tcp.ts';
import { askByUdp, type Exchange } from './ask-by-udp.ts';
import { encodeQuestion, type Question } from './question.ts';
import { type Reply, readReply } from './reply.ts';

export interface AskServerOptions {
  readonly system: Pick<System, 'randomBytes'>;
  /** Of one exchange by datagram, and of one by TCP. */
  readonly timeoutMs: number;
}

export interface Ask {
  readonly server: NameServer;
  readonly question: Question;
  readonly edns: boolean;
}

/** One question to one server: by datagram, and by TCP where the answer does not fit into one. */
export const createAskServer = ({ system, timeoutMs }: AskServerOptions) => {
  const open = new Set<AbortController>();

  const inTime = async (
    askBy: (exchange: Exchange) => Promise<Reply>,
    exchange: Omit<Exchange, 'signal'>,
  ): Promise<Reply> => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    open.add(controller);
    try {
      return await askBy({ ...exchange, signal: controller.signal });
    } finally {
      clearTimeout(timer);
      open.delete(controller);
    }
  };

  return {
    /** @throws {BadReply}, and whatever a socket does. */
    askServer: async ({ server, question, edns }: Ask): Promise<Reply> => {
      const id = Buffer.from(system.randomBytes(2)).readUInt16BE();
      const read = (message: Buffer): Reply | null => readReply(message, id, question);
      const exchange = { server, message: encodeQuestion(id, question, edns), read };
      const reply = await inTime(askByUdp, exchange);
      return reply.truncated ? inTime(askByTcp, exchange) : reply;
    },

    /** Gives up what is being asked. */
    close: (): void => {
      for (const controller of open) controller.abort();
    },
  };
};
