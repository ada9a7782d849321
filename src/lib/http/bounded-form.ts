import { BodyError, type BoundedBody, createBytes, type JsonBounds, tooLarge } from './bounded-json.ts';

/** Reads a posted form, whose files become base64. A form is parsed by the `formData` of Node once it is whole. */

/** A file in a form. */
export interface FormFile {
  readonly filename: string;
  readonly contentType: string;
  /** Base64. */
  readonly content: string;
}

export const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const;

/** True if a `Content-Type` is that of a form. */
export const isForm = (type: string | undefined): boolean => {
  const [essence = ''] = (type ?? '').split(';');
  return (FORM_TYPES as readonly string[]).includes(essence.trim().toLowerCase());
};

/**
 * Fields of a form. Higher: a form of nothing but fields takes longer to parse than its bytes allow. Lower: a message with
 * the longest lists of addresses, tags and headers is refused.
 */
const FIELDS_MAX = 1_000;
const BOUNDARY = /boundary="?([^";,]{1,70})/i;

const malformed = (): BodyError =>
  new BodyError(
    'invalid_request',
    'the form is malformed: send application/x-www-form-urlencoded or multipart/form-data',
  );

/** Refuses too many fields before any is parsed. @throws {BodyError} */
const requireFew = (bytes: Buffer, separator: string): void => {
  let at = bytes.indexOf(separator);
  for (let count = 0; at >= 0; count += 1) {
    if (count > FIELDS_MAX) throw new BodyError('invalid_request', `the form must have at most ${FIELDS_MAX} fields`);
    at = bytes.indexOf(separator, at + separator.length);
  }
};

const fileOf = async (file: File): Promise<FormFile> => ({
  filename: file.name,
  contentType: file.type,
  content: Buffer.from(await file.arrayBuffer()).toString('base64'),
});

type Entry = readonly [name: string, value: string | FormFile];

/** Files become base64, one after another. */
const entriesOf = async (form: FormData): Promise<readonly Entry[]> => {
  const entries: Entry[] = [];
  for (const [name, value] of form) entries.push([name, typeof value === 'string' ? value : await fileOf(value)]);
  return entries;
};

const contentsIn = (entries: readonly Entry[]): number =>
  entries.reduce((sum, [, value]) => sum + (typeof value === 'string' ? 0 : value.content.length), 0);

/** Everything but the contents of files. */
const restIn = (entries: readonly Entry[]): number =>
  entries.reduce((sum, [name, value]) => {
    const text = typeof value === 'string' ? value : value.filename + value.contentType;
    return sum + name.length + text.length;
  }, 0);

/** Values by name: a repeated field is a list. */
const valuesIn = (entries: readonly Entry[]): unknown => {
  const values = new Map<string, unknown>();
  for (const [name, value] of entries) {
    const known = values.get(name);
    values.set(name, known === undefined ? value : [known, value].flat());
  }
  return Object.fromEntries(values);
};

/** @param type the `Content-Type`. */
export const createBoundedForm = ({ bytesMax, restBytesMax }: JsonBounds, type: string): BoundedBody => {
  const bytes = createBytes();
  let parsedBytes = 0;

  const parse = async (): Promise<FormData> => {
    const isMultipart = type.toLowerCase().includes('multipart');
    requireFew(bytes.view(), isMultipart ? `--${BOUNDARY.exec(type)?.[1] ?? ''}` : '&');
    try {
      // `Response` copies the bytes itself.
      return await new Response(bytes.view() as Buffer<ArrayBuffer>, { headers: { 'content-type': type } }).formData();
    } catch {
      throw malformed();
    }
  };

  return {
    add: (chunk) => {
      bytes.add(chunk);
      if (bytes.length() > bytesMax) throw tooLarge('the body', bytesMax);
    },
    end: async () => {
      if (bytes.length() === 0) return undefined;
      const entries = await entriesOf(await parse());
      bytes.free();
      const rest = restIn(entries);
      if (rest > restBytesMax) throw tooLarge('the body without its files', restBytesMax);
      parsedBytes = rest + contentsIn(entries);
      return valuesIn(entries);
    },
    heldBytes: () => bytes.heldBytes() + parsedBytes,
    release: () => bytes.free(),
    sent: null,
  };
};
