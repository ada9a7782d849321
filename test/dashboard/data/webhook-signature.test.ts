import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkSignature } from '../../../src/dashboard/webhooks/signature.ts';
import { signWebhook } from '../../../src/domain/webhook/webhook.ts';

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes, no?').toString('base64')}`;
const OTHER = `whsec_${Buffer.from('another secret of a hook').toString('base64')}`;
const BODY = '{"id":"evt_1","address":"ann@exämple.net"}';

const postOf = (secrets: readonly string[], at = new Date()) => {
  const headers = signWebhook(secrets, { id: 'evt_1', at, body: BODY });
  return {
    secret: SECRET,
    id: headers['webhook-id'],
    timestamp: headers['webhook-timestamp'],
    signature: headers['webhook-signature'],
    body: BODY,
  };
};

describe('the signature checker', () => {
  test('accepts a signature made by the service, next to one made with another secret', async () => {
    expect(await checkSignature(postOf([SECRET]))).toMatchObject({ isRight: true });
    expect(await checkSignature(postOf([OTHER, SECRET]))).toMatchObject({ isRight: true });
  });

  test('reports that a correct signature is too old', async () => {
    const { isRight, text } = await checkSignature(postOf([SECRET], new Date(0)));
    expect([isRight, text]).toEqual([true, expect.stringContaining('more than 5 minutes')]);
  });

  test.each([
    ['a body that was written anew', { body: JSON.stringify(JSON.parse(BODY), null, 2) }, 'written again'],
    ['white space behind the body', { body: `${BODY}\n` }, 'written again'],
    ['another body', { body: '{}' }, 'does not match'],
    ['another time', { timestamp: '1' }, 'does not match'],
    ['another secret', { secret: OTHER }, 'does not match'],
    ['a secret that is cut off', { secret: 'whsec_' }, 'incomplete'],
    ['a secret that is no Base64', { secret: 'whsec_%%%' }, 'incomplete'],
    ['no signature', { signature: '' }, 'does not match'],
  ])('names %s', async (_name, change, words) => {
    const { isRight, text } = await checkSignature({ ...postOf([SECRET]), ...change });
    expect([isRight, text]).toEqual([false, expect.stringContaining(words)]);
  });

  test.each([
    ['the text of the secret as the key', SECRET, `evt_1.1.${BODY}`, 'decode the rest from Base64'],
    ['its text without the prefix as the key', SECRET.slice(6), `evt_1.1.${BODY}`, 'Decode it from Base64'],
  ])('names %s', async (_name, key, signed, words) => {
    const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    const { text } = await checkSignature({ ...postOf([SECRET]), timestamp: '1', signature });
    expect(text).toContain(words);
  });

  test('recognizes a signature of the body alone', async () => {
    const key = Buffer.from(SECRET.slice(6), 'base64');
    const signature = `v1,${createHmac('sha256', key).update(BODY).digest('base64')}`;
    const { text } = await checkSignature({ ...postOf([SECRET]), signature });
    expect(text).toContain('covers only the body');
  });
});
