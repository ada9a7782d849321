import type { Socket } from 'node:net';

/** `said` counts bytes that the server sent, `heard` those of the client. */
export interface CutOff {
  readonly after: 'said' | 'heard';
  readonly bytes: number;
}

/** Relays the first bytes of a connection and then ends it. Bytes sent before the cut arrive, and no others. */
export const cutOff = (socket: Socket, { after, bytes }: CutOff): void => {
  let left = bytes;
  const take = (chunk: Buffer): Buffer => {
    const part = chunk.subarray(0, left);
    left -= part.length;
    return part;
  };
  if (after === 'heard') {
    const emit = socket.emit.bind(socket);
    socket.emit = (event: string | symbol, ...parts: unknown[]): boolean => {
      if (event !== 'data') return emit(event, ...parts);
      const part = take(parts[0] as Buffer);
      const isTold = part.length > 0 && emit(event, part);
      if (left === 0) socket.destroy();
      return isTold;
    };
    return;
  }
  const write = socket.write.bind(socket) as (chunk: Buffer) => boolean;
  socket.write = ((chunk: string | Buffer): boolean => {
    const isWritten = socket.writable && write(take(Buffer.from(chunk)));
    if (left === 0 && socket.writable) socket.end();
    return isWritten;
  }) as Socket['write'];
};
