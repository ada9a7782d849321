/** What of a mail is kept: a report stands before the message that it returns. Less could lose one, more is memory. */
export const KEPT_BYTES_MAX = 1_000_000;

/** The beginning of a mail. */
export interface Kept {
  readonly raw: Buffer;
  /** It is all of it. */
  readonly isWhole: boolean;
}

/** All of it is read, as the protocol wants; what follows after the limit is not kept. */
export const keptOf = async (stream: AsyncIterable<Buffer>): Promise<Kept> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    if (length < KEPT_BYTES_MAX) chunks.push(chunk.subarray(0, KEPT_BYTES_MAX - length));
    length += chunk.length;
  }
  return { raw: Buffer.concat(chunks), isWhole: length <= KEPT_BYTES_MAX };
};
