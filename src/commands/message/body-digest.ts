import { mapConcurrently } from '../../async/map-concurrently.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { sha256Hex } from '../../domain/digest.ts';
import type { System } from '../../domain/ports/system.ts';

/** Texts from here on are hashed by themselves, so that other requests get their turns. */
const LONG_CHARACTERS = 65_536;
/** Some 0.3 ms of hashing. */
const SLICE_CHARACTERS = 262_144;

type Tools = { readonly system: Pick<System, 'monotonicMs'> };

const longDigest = async (tools: Tools, text: string): Promise<unknown> => {
  const starts = Array.from({ length: Math.ceil(text.length / SLICE_CHARACTERS) }, (_, index) => index);
  const digests = await mapConcurrently(starts, { ...tools, concurrency: 1 }, (index) =>
    sha256Hex(text.slice(index * SLICE_CHARACTERS, (index + 1) * SLICE_CHARACTERS)),
  );
  return { sha256: sha256Hex(digests.join('')), characters: text.length };
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object with its long texts, of these fields, replaced. */
const shortened = async (tools: Tools, value: unknown, fields: readonly string[]): Promise<unknown> => {
  if (!isObject(value)) return value;
  const short: Record<string, unknown> = { ...value };
  for (const field of fields) {
    const text = short[field];
    if (typeof text === 'string' && text.length >= LONG_CHARACTERS) short[field] = await longDigest(tools, text);
  }
  return short;
};

/**
 * SHA-256 of what a send asks for, a parsed body before defaults: equal for equal values. The contents of attachments
 * and long bodies go into it as digests of their own: 29 MB hold the event loop for a few milliseconds at a time.
 */
export const bodyDigest = async (tools: Tools, body: unknown): Promise<string> => {
  const short = await shortened(tools, body, ['html', 'text']);
  if (isObject(short) && Array.isArray(short.attachments)) {
    const attachments = await mapConcurrently(
      short.attachments as readonly unknown[],
      { ...tools, concurrency: 1 },
      (each) => shortened(tools, each, ['content']),
    );
    return digestOf({ ...short, attachments });
  }
  return digestOf(short);
};

/** No field goes as deep as JSON must to end the stack: a message that does was refused, and all such are alike. */
const digestOf = (value: unknown): string => {
  try {
    return sha256Hex(canonicalJson(value));
  } catch (error) {
    if (error instanceof RangeError) return 'too deep';
    throw error;
  }
};
