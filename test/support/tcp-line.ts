import type { Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';

/** How bytes travel. */
export interface Pace {
  readonly delayMs: number;
  /** Each byte alone, at the beginning and the end of what was written at once. */
  readonly single: boolean;
}

/** One direction of a connection. */
export interface TcpLine {
  /** What is on its way is lost. */
  drop(): void;
  /** The end of one side is not told to the other any more. */
  sever(): void;
}

interface Sent {
  readonly chunk: Buffer;
  readonly dueMs: number;
}

/** Where commands, replies and the final dot are. The middle of a message alone would take most of a machine. */
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

/** Passes on what comes, in its order and at the pace of the moment, and the end after all of it. */
export const createTcpLine = (from: Socket, to: Socket, pace: () => Pace): TcpLine => {
  let onTheWay: Sent[] = [];
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
