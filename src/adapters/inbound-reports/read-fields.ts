/** Fields of a header or of a report, by lower-case name; the values unfolded, in order. */
export type Fields = ReadonlyMap<string, readonly string[]>;

/** RFC 5322 §3.6.8; nobody writes longer names. */
const FIELD = /^([!-9;-~]{1,76})[ \t]{0,8}:(.*)$/;
const FOLD = /\n[ \t]+/g;
/** Of one value; longer ones are references and keys, which nobody reads here. */
const VALUE_CHARACTERS_MAX = 4000;

/** @param text with LF alone. What is no field is passed over. */
export const readFields = (text: string): Fields => {
  const fields = new Map<string, string[]>();
  for (const line of text.replace(FOLD, ' ').split('\n')) {
    const [, name, value = ''] = FIELD.exec(line.slice(0, VALUE_CHARACTERS_MAX)) ?? [];
    if (name === undefined) continue;
    const values = fields.get(name.toLowerCase());
    if (values === undefined) fields.set(name.toLowerCase(), [value.trim()]);
    else values.push(value.trim());
  }
  return fields;
};

export const firstField = (fields: Fields, name: string): string | undefined => fields.get(name)?.[0];
