import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

const CHUNK_BYTES = 1 << 18;

/** Reads the first bytes of a file, or the whole file if it is shorter. */
export const headOf = async (path: string, bytes: number): Promise<Buffer> => {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};

const GZIP = Buffer.from([0x1f, 0x8b]);

const isGzip = async (path: string): Promise<boolean> => (await headOf(path, GZIP.length)).equals(GZIP);

/** Opens a file that may be gzip-compressed and returns its plain bytes. */
export const openFile = async (path: string): Promise<Readable> => {
  const gzip = await isGzip(path);
  const bytes = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  return gzip ? pipeline(bytes, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined) : bytes;
};
