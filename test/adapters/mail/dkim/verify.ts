import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import type { TestKey } from './test-keys.ts';

/** An independent verifier that follows the RFCs strictly. For each signature it returns `pass` or the reason. */
export const createVerifier = (published: readonly TestKey[]) => {
  const records = new Map(published.map(({ record }) => record));
  const resolver = async (name: string): Promise<string[][]> => {
    const text = records.get(name);
    if (text === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return [[text]];
  };
  return async (raw: Buffer | string, now = new Date()): Promise<readonly string[]> => {
    const bytes = typeof raw === 'string' ? Buffer.from(raw, 'latin1') : raw;
    const { results } = await dkimVerify(bytes, { resolver, strict: true, curTime: now });
    return results.map(
      ({ status, signingDomain, selector, algo }) => `${status.result} ${algo} ${selector} ${signingDomain}`,
    );
  };
};
