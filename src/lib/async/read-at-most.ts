/** All bytes of a stream; null if it has more than `bytesMax`, in which case the rest is not read. */
export const readAtMost = async (stream: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer | null> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > bytesMax) return null; // leaving the loop destroys the stream
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
