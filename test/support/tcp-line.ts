import type { Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';

/** How bytes are transmitted. */
export interface Pace {
  readonly delayMs: number;
  /** Sends each byte alone at the beginning and the end of each write. */
  readonly single: boolean;
}

/** One direction of a connection. */
export interface TcpLine {
  /** Discards bytes in transit. */
  drop(): void;
  /** Stops relaying the end of one side to the other. */
  sever(): void;
}

interface SentLine {
  readonly chunk: Buffer;
  readonly dueMs: number;
}

/**
 * Commands, replies and the final dot are at the ends. Sending the middle of a message byte by byte would cost too much
 * time.
 */
const SINGLE_BYTES_FIRST = 400;
const SINGLE_BYTES_LAST = 100;

const passSingly = async (to: Socket, chunk: Buffer): Promise<void> => {
  for (const byte of chunk) {
    if (to.destroyed) return;
    to.write(Uint8Array.of(byte));
    await turn();
  }
};

const pass = async (to: Socket, chunk: Buffer, { single }: Pace): Promise<void> => {
  const lastAt = Math.max(chunk.length - SINGLE_BYTES_LAST, SINGLE_BYTES_FIRST);
  if (single) await passSingly(to, chunk.subarray(0, SINGLE_BYTES_FIRST));
  const rest = single ? chunk.subarray(SINGLE_BYTES_FIRST, lastAt) : chunk;
  if (!to.destroyed && rest.length > 0) to.write(rest);
  if (single) await passSingly(to, chunk.subarray(lastAt));
};

/** Relays bytes in order at the current pace, and the end after all of them. */
export const createTcpLine = (from: Socket, to: Socket, pace: () => Pace): TcpLine => {
  let onTheWay: SentLine[] = [];
  let isPassing = false;
  let isClosed = false;
  let isSevered = false;

  const passAll = async (): Promise<void> => {
    isPassing = true;
    for (let sent = onTheWay.shift(); sent !== undefined; sent = onTheWay.shift()) {
      const waitMs = sent.dueMs - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      await pass(to, sent.chunk, pace());
    }
    isPassing = false;
    if (isClosed) to.destroySoon();
  };

  from.on('data', (chunk: Buffer) => {
    onTheWay.push({ chunk, dueMs: performance.now() + pace().delayMs });
    if (!isPassing) void passAll();
  });
  from.on('close', () => {
    if (isSevered) return;
    isClosed = true;
    if (!isPassing) to.destroySoon();
  });

  return {
    drop: () => {
      onTheWay = [];
    },
    sever: () => {
      isSevered = true;
    },
  };
};
