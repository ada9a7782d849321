/** Decoded at once. A multiple of four. Larger wastes memory, smaller takes longer. */
const SLICE_CHARACTERS = 65_536;
const scratch = Buffer.allocUnsafeSlow((SLICE_CHARACTERS / 4) * 3);

const paddingOf = (text: string): number => {
  if (text.endsWith('==')) return 2;
  return text.endsWith('=') ? 1 : 0;
};

/** The platform's decoder passes over what it does not know: then fewer bytes come out. */
const isWhole = (slice: string): boolean =>
  scratch.write(slice, 'base64') === (slice.length / 4) * 3 - paddingOf(slice);

/**
 * Whether a text is base64 (RFC 4648 §4), padded, in one piece. By decoding it: 25 MB take 5 ms, where a regular
 * expression takes a hundred times as long.
 */
export const isBase64 = (text: string): boolean => {
  if (text.length % 4 !== 0) return false;
  for (let from = 0; from < text.length; from += SLICE_CHARACTERS) {
    const slice = text.slice(from, from + SLICE_CHARACTERS);
    const isLast = from + SLICE_CHARACTERS >= text.length;
    if (!isWhole(slice) || (!isLast && slice.endsWith('='))) return false;
  }
  // The alphabet for URLs (§5), which the decoder takes as well.
  return !text.includes('-') && !text.includes('_');
};
