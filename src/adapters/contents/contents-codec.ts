import { inTurns } from '../../async/turns.ts';
import { isBase64 } from '../../domain/base64.ts';
import {
  headOf,
  type MessageBody,
  type MessageContents,
  type StoredAttachment,
  type StoredBody,
  type StoredHead,
} from '../../domain/ports/contents.ts';
import { WrongSecretKey } from '../../domain/ports/secrets.ts';
import type { SecretBox } from '../secrets/secret-box.ts';

/** A row of `vault.contents`, as its columns take it: JSON in text. */
export interface EncodedContents {
  readonly id: string;
  readonly organizationId: string;
  readonly kind: string;
  /** Empty: the body is its own head. */
  readonly head: string;
  readonly body: string;
}

/** The columns that hold contents. */
export type Part = 'head' | 'body';

export interface ContentsCodec {
  /** Others have turns of the event loop while megabytes are encrypted. */
  encode(contents: MessageContents): Promise<EncodedContents>;
  /** @param found the column's value, parsed. @throws {WrongSecretKey} */
  decodeBody(id: string, found: unknown): Promise<StoredBody>;
  decodeHead(id: string, found: unknown, part: Part): Promise<StoredHead>;
}

export interface ContentsCodecOptions {
  /** Absent: nothing is encrypted, and what is does not open. */
  readonly box?: SecretBox;
  /** Whether new rows are encrypted; what is stored is read either way. */
  readonly encrypts?: boolean;
}

/** What is sealed for one column does not open for the other. */
const sealedId = (id: string, part: Part): string => `${id} ${part}`;

/** Base64 of a megabyte takes a millisecond. */
const PAUSE_BYTES_MIN = 1_000_000;

/** What is encrypted is a JSON string, in base64; what is in clear is an object. */
export const sealContents = (box: SecretBox, id: string, part: Part, json: string): Promise<string> =>
  inTurns(
    (function* () {
      const sealed = yield* box.sealing(sealedId(id, part), json);
      if (sealed.length > PAUSE_BYTES_MIN) yield;
      return `"${sealed.toString('base64')}"`; // in pieces it would take four times as long, most of it to join them
    })(),
  );

/** @returns the JSON. @throws {WrongSecretKey} */
export const openContents = (box: SecretBox, id: string, part: Part, found: string): Promise<string> =>
  inTurns(box.opening(sealedId(id, part), Buffer.from(found, 'base64')));

/** Writing a longer content as JSON takes milliseconds, and base64 is JSON as it stands. */
const WRITTEN_CHARACTERS_MAX = 100_000;

const encodeAttachment = (attachment: StoredAttachment): string => {
  const { content, ...rest } = attachment;
  const isPlain = content.length > WRITTEN_CHARACTERS_MAX && isBase64(content);
  return isPlain ? `${JSON.stringify(rest).slice(0, -1)},"content":"${content}"}` : JSON.stringify(attachment);
};

const encodeBody = (body: MessageBody): string => {
  const { attachments, ...rest } = body;
  if (attachments.length === 0) return JSON.stringify(body);
  return `${JSON.stringify(rest).slice(0, -1)},"attachments":[${attachments.map(encodeAttachment).join()}]}`;
};

/** Rows of `vault.contents` from and to what they hold, in clear or encrypted. */
export const createContentsCodec = ({ box, encrypts = false }: ContentsCodecOptions = {}): ContentsCodec => {
  const written = async (id: string, part: Part, json: string): Promise<string> =>
    encrypts && box !== undefined && json !== '' ? sealContents(box, id, part, json) : json;

  const decode = async (id: string, part: Part, found: unknown): Promise<unknown> => {
    if (typeof found !== 'string') return found;
    if (box === undefined) throw new WrongSecretKey(`${id} is encrypted, and there is no SECRET_KEY`);
    return JSON.parse(await openContents(box, id, part, found));
  };

  return {
    encode: async ({ id, organizationId, body }) => ({
      id,
      organizationId,
      kind: body.kind,
      head: body.kind === 'message' ? await written(id, 'head', JSON.stringify(headOf(body))) : '',
      body: await written(id, 'body', body.kind === 'message' ? encodeBody(body) : JSON.stringify(body)),
    }),
    // What is stored was encoded by this codec.
    decodeBody: (id, found) => decode(id, 'body', found) as Promise<StoredBody>,
    decodeHead: (id, found, part) => decode(id, part, found) as Promise<StoredHead>,
  };
};

export const PLAIN_CONTENTS = createContentsCodec();
