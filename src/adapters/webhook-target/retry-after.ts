const SECOND_MS = 1000;
const DIGITS = /^\d{1,9}$/;

/** `Retry-After` (RFC 9110 §10.2.3): seconds or a date; null where it is neither. Never negative. */
export const retryAfterSeconds = (header: string | readonly string[] | undefined, now: Date): number | null => {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim();
  if (text === undefined) return null;
  if (DIGITS.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / SECOND_MS));
};
