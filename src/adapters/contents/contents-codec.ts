import { isBase64 } from '../../domain/message/draft.ts';
import {
  headOf,
  type InboundRaw,
  isPartlyErased,
  isRemoved,
  type MessageBody,
  type MessageContents,
  type StoredBody,
  type StoredHead,
} from '../../domain/ports/contents.ts';
import { WrongSecretKey } from '../../domain/ports/secrets.ts';
import { inTurns, type Pausing } from '../../lib/async/async.ts';
import type { EncodedContents } from '../../lib/event-log/postgres.ts';
import type { StoredAttachment } from '../../lib/mime/mime.ts';
import { quoted } from '../../lib/transparency/transparency.ts';
import type { SecretBox } from '../secrets/postgres.ts';

/** The columns with contents. */
export type Part = 'head' | 'body';

export interface ContentsCodec {
  /** Encrypts megabytes with pauses for other work. */
  encode(contents: Omit<MessageContents, 'body'> & { readonly body: StoredBody }): Promise<EncodedContents>;
  /** @param found the column's value, parsed. @throws {WrongSecretKey} */
  decodeBody(id: string, found: unknown): Promise<StoredBody>;
  /** The same for megabytes, with pauses for other work. @param json the column's value as text. */
  decodeLargeBody(id: string, json: string): Promise<StoredBody>;
  decodeHead(id: string, found: unknown): Promise<StoredHead>;
}

export interface ContentsCodecOptions {
  /** Absent: nothing is encrypted, and encrypted contents cannot be opened. */
  readonly box?: SecretBox;
  /** True if new rows are encrypted. Stored rows are read either way. */
  readonly encrypts?: boolean;
}

/**
 * Length of a body's JSON above which it gets a separate head. Making a cipher is the larger part of encrypting so
 * little (16 of 25 µs), and every send would do it twice. Higher: a page of a list decrypts and parses more. Lower:
 * more messages are encrypted twice, and need half a kilobyte more.
 */
const OWN_HEAD_CHARACTERS_MAX = 4_000;

/** Binds a sealed text to its column, so that it cannot be opened as the other one. */
const sealedId = (id: string, part: Part): string => `${id} ${part}`;

/** Base64 of a megabyte takes a millisecond. */
const PAUSE_BYTES_MIN = 1_000_000;

/** Encrypted contents are a JSON string in base64; unencrypted ones are an object. */
export const sealContents = (box: SecretBox, id: string, part: Part, json: string): Promise<string> =>
  inTurns(
    (function* () {
      const sealed = yield* box.sealing(sealedId(id, part), json);
      if (sealed.length > PAUSE_BYTES_MIN) yield;
      return `"${sealed.toString('base64')}"`; // encoding it in pieces takes four times as long, mostly to join them
    })(),
  );

/** A multiple of four. */
const PAUSE_CHARACTERS = 4_000_000;

const fromBase64 = function* (text: string): Pausing<Buffer> {
  const pieces: Buffer[] = [];
  for (let from = 0; from < text.length; from += PAUSE_CHARACTERS) {
    if (from > 0) yield;
    pieces.push(Buffer.from(text.slice(from, from + PAUSE_CHARACTERS), 'base64'));
  }
  return pieces.length === 1 ? (pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(pieces);
};

/** @returns the JSON. @throws {WrongSecretKey} */
export const openContents = (box: SecretBox, id: string, part: Part, found: string): Promise<string> =>
  inTurns(
    (function* () {
      return yield* box.opening(sealedId(id, part), yield* fromBase64(found));
    })(),
  );

/** Writing a longer content as JSON takes milliseconds, but base64 is valid JSON as it is. */
const WRITTEN_CHARACTERS_MAX = 100_000;

const encodeAttachment = (attachment: StoredAttachment): string => {
  const { content, ...rest } = attachment;
  const isPlain = content.length > WRITTEN_CHARACTERS_MAX && isBase64(content);
  return isPlain ? `${JSON.stringify(rest).slice(0, -1)},"content":"${content}"}` : JSON.stringify(attachment);
};

/** Html and text were already quoted for the hashes of their parts, and are not quoted again. */
const encodeText = (name: 'html' | 'text', text: string | undefined): string =>
  text === undefined ? '' : `,"${name}":${quoted(text)}`;

const encodeBody = ({ attachments, html, text, ...rest }: MessageBody): string =>
  `${JSON.stringify(rest).slice(0, -1)}${encodeText('html', html)}${encodeText('text', text)},"attachments":[${attachments.map(encodeAttachment).join()}]}`;

/** The raw mail is base64, which is valid JSON as it is. */
const encodeRaw = ({ content, ...rest }: InboundRaw): string =>
  `${JSON.stringify(rest).slice(0, -1)},"content":"${content}"}`;

const jsonOf = (body: StoredBody): string => {
  if (body.kind === 'message') return encodeBody(body);
  return body.kind === 'inbound_raw' ? encodeRaw(body) : JSON.stringify(body);
};

/** Kinds whose heads leave out large parts. */
const hasHead = ({ kind }: StoredBody): boolean => kind === 'message' || kind === 'inbound';

const CONTENT = '"content":"';
/** Placeholder for a content that is put back after parsing. Not valid base64. */
const LATER = '?';

interface CutJson {
  readonly json: string;
  readonly contents: readonly string[];
}

/** Cuts long contents out of the JSON of a body. A content with an escape stays in place. */
const cutContents = (json: string): CutJson => {
  const rest: string[] = [];
  const contents: string[] = [];
  let from = 0;
  for (let at = json.indexOf(CONTENT); at !== -1; at = json.indexOf(CONTENT, at)) {
    at += CONTENT.length;
    const end = json.indexOf('"', at);
    const content = json.slice(at, end);
    if (content.length <= WRITTEN_CHARACTERS_MAX || content.includes('\\')) continue;
    rest.push(json.slice(from, at), LATER);
    contents.push(content);
    from = end;
    at = end;
  }
  return { json: rest.join('') + json.slice(from), contents };
};

/**
 * `JSON.parse` of a body. For 25 MB of attachments it would block the event loop for 50 ms and more, so long contents
 * are cut out before and put back afterwards.
 */
const parseBody = (json: string): StoredBody => {
  const cut = cutContents(json);
  const body = JSON.parse(cut.json) as StoredBody; // as this codec wrote it
  if (cut.contents.length === 0) return body;
  if (body.kind === 'inbound_raw') return { ...body, content: cut.contents[0] ?? '' };
  if (body.kind !== 'message') return JSON.parse(json) as StoredBody;
  const { alternatives = [], attachments } = body;
  const cutFrom = [...alternatives, ...attachments].filter(({ content }) => content === LATER);
  // The cut matched something else too: a name that ends like `CONTENT`.
  if (cutFrom.length !== cut.contents.length) return JSON.parse(json) as StoredBody;
  for (const [index, one] of cutFrom.entries()) Object.assign(one, { content: cut.contents[index] });
  return body;
};

/** Converts rows of `vault.contents` to and from their contents, encrypted or not. */
export const createContentsCodec = ({ box, encrypts = false }: ContentsCodecOptions = {}): ContentsCodec => {
  const written = async (id: string, part: Part, json: string): Promise<string> =>
    encrypts && box !== undefined && json !== '' ? sealContents(box, id, part, json) : json;

  /** @param json the body as JSON. */
  const headFor = async (id: string, body: StoredBody, json: string): Promise<string> =>
    hasHead(body) && json.length > OWN_HEAD_CHARACTERS_MAX
      ? await written(id, 'head', JSON.stringify(headOf(body)))
      : '';

  /** The record of a removal contains no personal data, unless parts are kept, so it is not encrypted. */
  const bodyFor = async (id: string, body: StoredBody, json: string): Promise<string> =>
    isRemoved(body) && !isPartlyErased(body) ? json : await written(id, 'body', json);

  const decode = async (id: string, part: Part, found: unknown): Promise<unknown> => {
    if (typeof found !== 'string') return found;
    if (box === undefined) throw new WrongSecretKey(`${id} is encrypted, and there is no SECRET_KEY`);
    return JSON.parse(await openContents(box, id, part, found));
  };

  return {
    encode: async ({ id, organizationId, body, searchWords = [] }) => {
      const json = jsonOf(body);
      return {
        id,
        organizationId,
        kind: isPartlyErased(body) ? 'partly_erased' : body.kind,
        messageId: 'messageId' in body ? body.messageId : '',
        head: await headFor(id, body, json),
        body: await bodyFor(id, body, json),
        words: searchWords.length === 0 ? '' : `{${searchWords.join()}}`,
      };
    },
    // Stored values were encoded by this codec.
    decodeBody: (id, found) => decode(id, 'body', found) as Promise<StoredBody>,
    decodeLargeBody: async (id, json) => {
      if (!json.startsWith('"')) return parseBody(json);
      if (box === undefined) throw new WrongSecretKey(`${id} is encrypted, and there is no SECRET_KEY`);
      return parseBody(await openContents(box, id, 'body', json.slice(1, -1)));
    },
    decodeHead: (id, found) => decode(id, 'head', found) as Promise<StoredHead>,
  };
};

export const PLAIN_CONTENTS = createContentsCodec();
