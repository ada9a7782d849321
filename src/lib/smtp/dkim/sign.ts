import { createHash, createPrivateKey, hash, type KeyObject, sign } from 'node:crypto';
import { setImmediate as othersTurn } from 'node:timers/promises';
import { createCohort } from '../../async/async.ts';
import type { UnsignedMessage } from '../../mime/mime.ts';

/** A signing key of a domain (RFC 6376, RFC 8463) whose record was found in DNS. */
export interface SigningKey {
  /** A-labels, as in `d=`. */
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256';
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}

/** The relaxed form of headers and bodies (RFC 6376 §3.4), and the hash of a body. */

/** RFC 6376 §3.4.2 counts only these as white space. Other Unicode white space is text. */
const OUTER_SPACE = /^[ \t]+|[ \t]+$/g;
const NEEDS_WORK = /[\r\t]| {2}/;

/**
 * A header field in `relaxed` form (RFC 6376 §3.4.2), with its CRLF.
 * @param name in lower case.
 * @param value the text after the colon, folded as written.
 */
export const relaxedHeader = (name: string, value: string): string => {
  const line = NEEDS_WORK.test(value) ? value.replaceAll('\r\n', '').replace(/[ \t]+/g, ' ') : value;
  return `${name}:${line.replace(OUTER_SPACE, '')}\r\n`;
};

const SPACE = 0x20;
const TAB = 0x09;
const CR = 0x0d;

const isSpace = (byte: number): boolean => byte === SPACE || byte === TAB;

/**
 * Lines in `relaxed` form (RFC 6376 §3.4.4 a): white space within a line becomes one space, and is dropped at its end.
 * Text without white space, such as base64, is not copied. A plain loop: searching for the places to change is slower,
 * as measured.
 * @param bytes whole lines with CRLF.
 */
const relaxedLines = (bytes: Buffer): Buffer => {
  if (!bytes.includes(SPACE) && !bytes.includes(TAB)) return bytes;
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let isAfterSpace = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (isSpace(byte)) {
      isAfterSpace = true;
      continue;
    }
    if (isAfterSpace && byte !== CR) {
      out[length] = SPACE;
      length += 1;
    }
    isAfterSpace = false;
    out[length] = byte;
    length += 1;
  }
  return out.subarray(0, length);
};

const LF = 0x0a;
const LINE_END_BYTES = 2;
/** Bytes hashed at a time, so that no canonicalised body is in memory as a whole. */
const PIECE_BYTES = 64 * 1024;
/** A quarter of a megabyte, about 1 ms. More delays everything else, less costs turns. */
const PIECES_PER_TURN = 4;
/** Line ends at the end of a piece are written once text follows, this many at a time. */
const LINE_ENDS = Buffer.from('\r\n'.repeat(4096));

/** @throws {Error} if a line continues in the next chunk. */
function* piecesOf(chunk: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunk.length; ) {
    const end = at + PIECE_BYTES >= chunk.length ? chunk.length : chunk.lastIndexOf(LF, at + PIECE_BYTES) + 1;
    if (end <= at || chunk[end - 1] !== LF) throw new Error('a body is hashed in whole lines');
    yield chunk.subarray(at, end);
    at = end;
  }
}

/** Hashes lines as they arrive, without the empty lines at the end of the body (RFC 6376 §3.4.4 b). */
const createRelaxedHash = () => {
  const digest = createHash('sha256');
  let isEmpty = true;
  let waitingBytes = 0;

  const writeWaiting = (): void => {
    for (; waitingBytes > 0; waitingBytes -= Math.min(waitingBytes, LINE_ENDS.length)) {
      digest.update(LINE_ENDS.subarray(0, Math.min(waitingBytes, LINE_ENDS.length)));
    }
  };
  return {
    add: (lines: Buffer): void => {
      const relaxed = relaxedLines(lines);
      let end = relaxed.length;
      while (end > 0 && relaxed[end - 1] === LF) end -= LINE_END_BYTES;
      if (end > 0) {
        writeWaiting();
        digest.update(relaxed.subarray(0, end));
        isEmpty = false;
      }
      waitingBytes += relaxed.length - end;
    },
    end: (): string => (isEmpty ? digest : digest.update('\r\n')).digest('base64'),
  };
};

/**
 * SHA-256 of a body in `relaxed` form, base64 (the tag `bh`). Small bodies are hashed at once, large ones with pauses
 * for other work.
 * @param chunks whole lines with CRLF, without bare CR or LF, like all messages here.
 */
export const bodyHash = async (chunks: Iterable<Buffer>): Promise<string> => {
  const relaxed = createRelaxedHash();
  let pieces = 0;
  for (const chunk of chunks) {
    for (const piece of piecesOf(chunk)) {
      relaxed.add(piece);
      pieces += 1;
      if (pieces % PIECES_PER_TURN === 0) await othersTurn();
    }
  }
  return relaxed.end();
};

/**
 * DKIM signatures (RFC 6376, RFC 8463): which header fields are signed, how the signature is written, and the keys used
 * for it.
 */

/**
 * Fields signed once more than they occur, even if absent. A relay then cannot add one that mail programs would show,
 * reply to or interpret in place of ours (RFC 6376 §8.15). `Sender` and `List-…` are not included: lists that otherwise
 * leave a message unchanged add those, and its signature should survive that.
 */
const OVERSIGNED = [
  'From',
  'Reply-To',
  'Subject',
  'Date',
  'To',
  'Cc',
  'Message-ID',
  'MIME-Version',
  'Content-Type',
] as const;

/**
 * Fields signed once more than they occur, if present (RFC 6376 §5.4.1). RFC 8058 §4: unless both of the first two are
 * signed, no program offers one-click unsubscribe. Some servers add a `Content-Transfer-Encoding` to a multipart
 * without one.
 */
const OVERSIGNED_IF_PRESENT = [
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
  'Content-Transfer-Encoding',
  'In-Reply-To',
  'References',
  'List-Id',
  'List-Help',
  'List-Subscribe',
  'List-Owner',
  'List-Post',
  'List-Archive',
] as const;

interface SignedHeader {
  /** Name as written in a signature. */
  readonly name: string;
  readonly key: string;
  readonly evenIfAbsent: boolean;
}

const SIGNED: readonly SignedHeader[] = [
  ...OVERSIGNED.map((name) => ({ name, key: name.toLowerCase(), evenIfAbsent: true })),
  ...OVERSIGNED_IF_PRESENT.map((name) => ({ name, key: name.toLowerCase(), evenIfAbsent: false })),
];

interface SignedHeaders {
  /** The tag `h`, in the order they were hashed. */
  readonly names: readonly string[];
  /** Fields that are hashed, with a CRLF after each. */
  readonly relaxed: string;
}

/** A line end that is not followed by folding. */
const FIELD_END = /\r\n(?![ \t])/;

/** Values by name, the last occurrence first: the order in which verifiers use them (RFC 6376 §5.4.2). */
const valuesByName = (head: string): ReadonlyMap<string, readonly string[]> => {
  const values = new Map<string, string[]>();
  for (const field of head.split(FIELD_END)) {
    const colon = field.indexOf(':');
    const key = field.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = field.slice(colon + 1);
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.unshift(value);
  }
  return values;
};

/** @param head header fields as written, each with its CRLF. */
const signedHeaders = (head: string): SignedHeaders => {
  const values = valuesByName(head);
  const names: string[] = [];
  let relaxed = '';
  for (const { name, key, evenIfAbsent } of SIGNED) {
    const present = values.get(key) ?? [];
    for (const value of present) {
      names.push(name);
      relaxed += relaxedHeader(key, value);
    }
    if (evenIfAbsent || present.length > 0) names.push(name);
  }
  return { names, relaxed };
};

/** RFC 5322 §2.1.1, without the CRLF. */
const LINE_CHARACTERS = 78;
const FOLD = '\r\n ';
const FIELD = 'DKIM-Signature:';

/** Puts as many words on a line as fit, joined by `glue`. Each line begins with the space that folds it. */
const fill = (words: readonly string[], glue: string): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const longer = line === '' ? word : line + glue + word;
    if (longer.length >= LINE_CHARACTERS && line !== '') lines.push(line);
    line = longer.length < LINE_CHARACTERS ? longer : word;
  }
  return [...lines, line].join(FOLD);
};

const inLines = (base64: string, tag: string): string => {
  const first = LINE_CHARACTERS - tag.length - 1;
  let text = tag + base64.slice(0, first);
  for (let at = first; at < base64.length; at += LINE_CHARACTERS - 1) {
    text += FOLD + base64.slice(at, at + LINE_CHARACTERS - 1);
  }
  return text;
};

interface SignatureTags {
  readonly names: readonly string[];
  readonly bodyHash: string;
  readonly signedAt: number;
  readonly expiresAt: number;
}

/** The value of a `DKIM-Signature` (RFC 6376 §3.5), folded, up to and including its empty `b=`. */
const signatureValue = (
  { algorithm, domain, selector }: SigningKey,
  { names, bodyHash, signedAt, expiresAt }: SignatureTags,
): string => {
  // The first tag stays on the name's line: some readers lose the value if the first line has none.
  const tags = [`${FIELD} v=1;`, `a=${algorithm};`, 'c=relaxed/relaxed;', `d=${domain};`, `s=${selector};`];
  const times = [`t=${signedAt};`, `x=${expiresAt};`];
  const listed = names.map((name, index) => `${index === 0 ? 'h=' : ''}${name}${index < names.length - 1 ? ':' : ';'}`);
  const lines = [fill([...tags, ...times], ' '), fill(listed, ''), `bh=${bodyHash};`, 'b='];
  return lines.join(FOLD).slice(FIELD.length);
};

/** @param value of `signatureValue`. */
const signatureHeader = (value: string, signature: string): string =>
  `${FIELD}${value.slice(0, -'b='.length)}${inLines(signature, 'b=')}\r\n`;

/**
 * Cached keys, some 4 kB each. With fewer than the domains active at a time, keys are parsed again, 0.1 ms each; more
 * only cost memory.
 */
const KEYS_MAX = 1_000;
/** RFC 8301 §3.2: verifiers must not accept shorter ones. */
const RSA_BITS_MIN = 1024;
const KINDS = { 'rsa-sha256': 'rsa', 'ed25519-sha256': 'ed25519' } as const;
/** RFC 6376 §3.5: no character that could end the tag. */
const NAME = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i;
const NAME_CHARACTERS_MAX = 253;

const isName = (text: string): boolean => text.length <= NAME_CHARACTERS_MAX && NAME.test(text);

const parse = ({ domain, selector, algorithm, privateKey }: SigningKey): KeyObject => {
  if (!isName(domain) || !isName(selector)) throw new Error('a signing key has a domain or selector that is no name');
  let key: KeyObject;
  try {
    key = createPrivateKey(privateKey);
  } catch (cause) {
    throw new Error(`the signing key ${selector} of ${domain} cannot be read`, { cause });
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? RSA_BITS_MIN;
  if (key.asymmetricKeyType !== KINDS[algorithm] || bits < RSA_BITS_MIN) {
    throw new Error(`the signing key ${selector} of ${domain} is not fit for ${algorithm}`);
  }
  return key;
};

interface PrivateKeys {
  /** @throws {Error} if the key cannot be read, or does not fit its algorithm. */
  of(key: SigningKey): KeyObject;
}

/** Private keys in the form used for signing. Each is parsed once while it is in use. */
export const createPrivateKeys = (keysMax = KEYS_MAX): PrivateKeys => {
  const known = new Map<string, KeyObject>();
  return {
    of: (key) => {
      const name = `${key.selector} ${key.domain} ${key.algorithm} ${hash('sha256', key.privateKey, 'base64')}`;
      const parsed = known.get(name) ?? parse(key);
      // The most recently used key is last; the first one is evicted.
      known.delete(name);
      known.set(name, parsed);
      if (known.size > keysMax) known.delete(known.keys().next().value ?? name);
      return parsed;
    },
  };
};

const SECOND_MS = 1000;
/**
 * Lifetime of a signature (the tag `x`): a week, longer than any server keeps mail that it relays (RFC 5321 §4.5.4.1: 4
 * to 5 days). Each attempt is signed anew. Without an expiry, a single copy could be sent to other recipients forever,
 * on our good name, and no replaced key could ever be withdrawn.
 */
const VALID_SECONDS = 7 * 24 * 60 * 60;

const signed = createCohort();

/** Signs on the thread pool: an RSA key occupies a core for longer than all other work on a message. */
const signatureOf = (algorithm: string | null, data: Buffer, key: KeyObject): Promise<string> =>
  new Promise((resolve, reject) => {
    sign(algorithm, data, key, (error, signature) =>
      error === null ? signed.join(() => resolve(signature.toString('base64'))) : reject(error),
    );
  });

/** RFC 8463 §3: Ed25519 signs the hash. */
const signDigest = (data: Buffer, key: KeyObject): Promise<string> =>
  key.asymmetricKeyType === 'ed25519'
    ? signatureOf(null, hash('sha256', data, 'buffer'), key)
    : signatureOf('sha256', data, key);

interface Signing {
  readonly keys: readonly SigningKey[];
  readonly privateKeys: PrivateKeys;
  /** The tag `bh`. */
  readonly bodyHash: string;
  readonly now: Date;
}

/**
 * `DKIM-Signature` header fields (RFC 6376, RFC 8463), one for each key, in the order of the keys. Without `l=`, which
 * would let anyone append to the body, and without `z=`, which repeats the headers.
 * @throws {Error} if a key cannot sign.
 */
export const dkimSignatures = async ({ head }: UnsignedMessage, signing: Signing): Promise<string> => {
  const { names, relaxed } = signedHeaders(head);
  const signedAt = Math.floor(signing.now.getTime() / SECOND_MS);
  const tags: SignatureTags = { names, bodyHash: signing.bodyHash, signedAt, expiresAt: signedAt + VALID_SECONDS };
  const headers = await Promise.all(
    signing.keys.map(async (key) => {
      const value = signatureValue(key, tags);
      const own = relaxedHeader('dkim-signature', value).slice(0, -'\r\n'.length);
      return signatureHeader(value, await signDigest(Buffer.from(relaxed + own), signing.privateKeys.of(key)));
    }),
  );
  return headers.join('');
};
