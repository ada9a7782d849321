/** Others at the name are not about this (RFC 8461 §3.1). */
const BEGINNING = 'v=STSv1;';
const FIELD = /^[ \t]*(?<name>[a-z0-9][a-z0-9_.-]{0,31})=(?<value>[!-:<>-~]+)[ \t]*$/i;
const BLANK = /^[ \t]*$/;
/** Records in use have 40. Longer ones are read while everything else waits, and say no more. */
const CHARACTERS_MAX = 1000;
const ID = /^[a-z0-9]{1,32}$/i;

/**
 * The id in the TXT records of `_mta-sts.<domain>`: another one means another policy. Null: there is no policy, which is
 * also what several records or a malformed one mean (RFC 8461 §3.1).
 */
export const stsRecordId = (texts: readonly string[]): string | null => {
  const [only, ...others] = texts.filter((text) => text.startsWith(BEGINNING));
  if (only === undefined || others.length > 0 || only.length > CHARACTERS_MAX) return null;
  const fields = only.slice(BEGINNING.length).split(';');
  // The last semicolon is optional.
  const given = BLANK.test(fields.at(-1) ?? '') ? fields.slice(0, -1) : fields;
  const read = given.map((field) => FIELD.exec(field)?.groups ?? null);
  if (read.includes(null)) return null;
  const id = read.find((field) => field?.name === 'id')?.value ?? '';
  return ID.test(id) ? id : null;
};
