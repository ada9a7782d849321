import { nativeBase64 } from './runtime.ts';

/** Base64 (RFC 4648 §4) without a library, in every runtime. */

/** A multiple of 3, so that chunks join without padding; more arguments than some 60,000 overflow the stack. */
const CHUNK_BYTES = 24_576;

const chunkOf = (bytes: Uint8Array): string => nativeBase64(bytes) ?? btoa(String.fromCharCode(...bytes));

export const base64 = (bytes: Uint8Array): string => {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) text += chunkOf(bytes.subarray(at, at + CHUNK_BYTES));
  return text;
};

/** @returns null: not Base64. */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  } catch {
    return null;
  }
};

/** Encodes a stream while it is read; holds a chunk of it. */
export async function* base64Stream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const reader = stream.getReader();
  let rest: Uint8Array = new Uint8Array();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      const bytes = new Uint8Array(rest.length + value.length);
      bytes.set(rest);
      bytes.set(value, rest.length);
      const whole = bytes.length - (bytes.length % 3);
      rest = bytes.subarray(whole);
      if (whole > 0) yield encoder.encode(base64(bytes.subarray(0, whole)));
    }
    if (rest.length > 0) yield encoder.encode(base64(rest));
  } finally {
    await reader.cancel();
  }
}
