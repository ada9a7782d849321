import type { SMTPServerDataStream } from 'smtp-server';
import type { BodyBudget } from '../http/bodies/body-budget.ts';
import { SmtpRefusal } from './smtp-refusal.ts';

/** As much as HTTP takes of a message that is encoded, and its headers. */
export const MESSAGE_BYTES_MAX = 26_500_000;

const tooLarge = (): SmtpRefusal => new SmtpRefusal(552, `5.3.4 the message is larger than ${MESSAGE_BYTES_MAX} bytes`);
const noRoom = (): SmtpRefusal =>
  new SmtpRefusal(451, '4.3.0 too many large messages are in hand: try again in some seconds');

export interface ReceivedMessage {
  readonly chunks: readonly Uint8Array[];
  /** Taken of the budget: whoever is done with it gives it back. */
  readonly bytes: number;
}

/**
 * A message as it arrives, within what all bodies in flight may take. One that is too large is read to its end, as the
 * protocol wants, and not kept.
 * @throws {SmtpRefusal} too large, no room, or it did not come to its end; then nothing of the budget is kept.
 */
export const receiveMessage = (stream: SMTPServerDataStream, bodies: BodyBudget): Promise<ReceivedMessage> =>
  new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let isOver = false;
    const stop = (refusal: SmtpRefusal): void => {
      if (isOver) return;
      isOver = true;
      chunks.length = 0;
      bodies.give(bytes);
      reject(refusal);
    };
    const keep = (chunk: Buffer): SmtpRefusal | null => {
      if (bytes + chunk.length > MESSAGE_BYTES_MAX) return tooLarge();
      if (!bodies.take(chunk.length)) return noRoom();
      bytes += chunk.length;
      chunks.push(chunk);
      return null;
    };
    stream.on('data', (chunk: Buffer) => {
      const refusal = isOver ? null : keep(chunk);
      if (refusal !== null) stop(refusal);
    });
    const broken = (): void => stop(new SmtpRefusal(451, '4.4.2 the message did not come to its end'));
    stream.once('error', broken);
    stream.once('close', broken);
    stream.once('end', () => {
      if (isOver) return;
      isOver = true;
      resolve({ chunks, bytes });
    });
  });
