/**
 * Verifies a webhook signature like a receiver does (Standard Webhooks 1.0.0): HMAC-SHA256 over `id.timestamp.body`,
 * keyed with the decoded secret. It runs in the browser, so the secret never leaves it.
 */

export interface SignedPost {
  /** `whsec_…` */
  readonly secret: string;
  /** Headers of the webhook request. */
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  /** Body exactly as received. */
  readonly body: string;
}

export interface Verdict {
  readonly isRight: boolean;
  readonly text: string;
}

const TOLERANCE_SECONDS = 300;
const PREFIX = /^whsec_/;

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** @returns null if the text is not base64. */
const decoded = (base64: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  } catch {
    return null;
  }
};

const hmac = async (secret: Uint8Array<ArrayBuffer>, text: string): Promise<string> => {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['sign']);
  const signed = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytesOf(text)));
  return btoa(String.fromCharCode(...signed));
};

const rewritten = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
};

const wrong = (text: string): Verdict => ({ isRight: false, text });

/** Common receiver mistakes, recognized by the signature that each would produce. */
const mistakes = ({ secret, id, timestamp, body }: SignedPost, key: Uint8Array<ArrayBuffer>) => {
  const signed = `${id}.${timestamp}.${body}`;
  return [
    [
      key,
      `${id}.${timestamp}.${rewritten(body)}`,
      'The signature matches this body after it was parsed and written again. Verify the body as received.',
    ],
    [key, `${id}.${timestamp}.${body.trimEnd()}`, 'The signature matches this body without its trailing white space.'],
    [key, body, 'The signature covers only the body. Sign the id, the time and the body, separated by dots.'],
    [bytesOf(secret), signed, 'The key was the text of the secret. Remove “whsec_” and decode the rest from Base64.'],
    [bytesOf(secret.replace(PREFIX, '')), signed, 'The key was the text of the secret. Decode it from Base64.'],
  ] as const;
};

const ageOf = (timestamp: string): string => {
  const seconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  return seconds <= TOLERANCE_SECONDS
    ? ''
    : ' Its time is more than 5 minutes from now. Receivers reject it as a possible replay.';
};

export const checkSignature = async (post: SignedPost): Promise<Verdict> => {
  const { id, timestamp, body } = post;
  if (crypto.subtle === undefined) return wrong('Browsers check signatures only over HTTPS or on localhost.');
  const key = decoded(post.secret.trim().replace(PREFIX, ''));
  if (key === null || key.length === 0)
    return wrong('The secret is incomplete. It starts with “whsec_”, followed by Base64.');
  const given = post.signature
    .trim()
    .split(/\s+/)
    .map((one) => one.replace(/^v1,/, ''));
  if (given.includes(await hmac(key, `${id}.${timestamp}.${body}`))) {
    return { isRight: true, text: `The signature is valid for this body and secret.${ageOf(timestamp)}` };
  }
  for (const [secret, text, mistake] of mistakes({ ...post, secret: post.secret.trim() }, key)) {
    if (given.includes(await hmac(secret, text))) return wrong(mistake);
  }
  return wrong(
    'The signature does not match, and no common mistake explains it. Check the secret, the id, the time and the body.',
  );
};
