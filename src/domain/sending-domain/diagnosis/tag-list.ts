/** RFC 6376 §3.2 tag-name. */
const NAME = /^[a-z]\w*$/i;

/** The largest key fills a tenth. Longer is nothing that anybody meant, and costs time to take apart. */
const CHARACTERS_MAX = 8192;

/**
 * Tags of a DKIM key record or DMARC policy in order, spaces around them gone. null: it is no such list, or has a tag
 * twice, which makes all of it void (RFC 6376 §3.2).
 */
export const parseTagList = (text: string): ReadonlyMap<string, string> | null => {
  if (text.length > CHARACTERS_MAX) return null;
  const parts = text.split(';');
  if (parts.at(-1)?.trim() === '') parts.pop();
  const tags = new Map<string, string>();
  for (const part of parts) {
    const equals = part.indexOf('=');
    const name = part.slice(0, Math.max(0, equals)).trim();
    if (!NAME.test(name) || tags.has(name)) return null;
    tags.set(name, part.slice(equals + 1).trim());
  }
  return tags;
};
