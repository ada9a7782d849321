import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';

/** Passes bytes on, counting and hashing them. */
export const digesting = () => {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    pass: new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        hash.update(chunk);
        bytes += chunk.length;
        done(null, chunk);
      },
    }),
    end: () => ({ bytes, sha256: hash.digest('hex') }),
  };
};
