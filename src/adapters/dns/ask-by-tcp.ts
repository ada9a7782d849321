import { connect } from 'node:net';
import type { Exchange } from './ask-by-udp.ts';
import { BadReply } from './bad-reply.ts';
import type { Reply } from './reply.ts';

const LENGTH_BYTES = 2;

const withLength = (message: Buffer): Buffer => {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
};

/** The first message on the connection (RFC 1035 §4.2.2: its length stands before it); what follows is not read. */
const firstMessage = async (socket: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let end = LENGTH_BYTES;
  for await (const chunk of socket) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < end) continue;
    const received = Buffer.concat(chunks.splice(0));
    chunks.push(received);
    end = LENGTH_BYTES + received.readUInt16BE(0);
    if (bytes >= end) return received.subarray(LENGTH_BYTES, end);
  }
  throw new BadReply('an answer that breaks off');
};

/**
 * Asks for what did not fit into a datagram, on a connection of its own.
 * @throws {BadReply} the answer cannot be read, is about something else, or breaks off.
 */
export const askByTcp = async ({ server, message, read, signal }: Exchange): Promise<Reply> => {
  const socket = connect({ host: server.address, port: server.port, signal });
  socket.on('connect', () => socket.write(withLength(message)));
  try {
    const reply = read(await firstMessage(socket));
    if (reply === null || reply.truncated) throw new BadReply('an answer to something else');
    return reply;
  } finally {
    socket.destroy();
  }
};
