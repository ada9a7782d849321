import { send } from './api.ts';

/** The readable part of a message's source. */

/** Shows only the beginning of a longer source: the rest is attachments. */
const SHOWN_CHARACTERS = 200_000;

export interface RawMessage {
  readonly text: string;
  readonly isWhole: boolean;
}

export const rawPath = (id: string): string => `/v1/messages/${id}/raw`;

/** @throws {ApiFault} */
export const readRaw = async (path: string, signal: AbortSignal): Promise<RawMessage> => {
  const { body } = await send(path, { signal });
  if (body === null) return { text: '', isWhole: true };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += read.value;
    if (text.length <= SHOWN_CHARACTERS) continue;
    await reader.cancel();
    return { text: text.slice(0, SHOWN_CHARACTERS), isWhole: false };
  }
  return { text, isWhole: true };
};

export interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/** Header fields, unfolded (RFC 5322 §2.2.3). */
export const headersIn = (raw: string): readonly HeaderField[] => {
  const [head = ''] = raw.split('\r\n\r\n', 1);
  return head
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .map((line) => ({ name: line.slice(0, line.indexOf(':')), value: line.slice(line.indexOf(':') + 1).trim() }));
};
