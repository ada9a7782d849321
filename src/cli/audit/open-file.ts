import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

const CHUNK_BYTES = 1 << 18;

const isGzip = async (path: string): Promise<boolean> => {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.readUInt16BE() === 0x1f8b;
  } finally {
    await file.close();
  }
};

/** The bytes of a file that may be in gzip. */
export const openFile = async (path: string): Promise<Readable> => {
  const gzip = await isGzip(path);
  const bytes = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  return gzip ? pipeline(bytes, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined) : bytes;
};
