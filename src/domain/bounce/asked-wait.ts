const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** As many characters as are kept of a reply. */
const TEXT_CHARACTERS_MAX = 1000;

/** Words that ask for another try, near enough before a number to be about it; a number between them is about something else. */
const ASKING = String.raw`\b(?:try|retry|again|later|come back|back|wait|resend|reconnect|return|gr[ae]y-?listed|deferred|delayed)\b[^\d.;]{0,40}`;
const LENGTH = new RegExp(
  String.raw`(?:${ASKING}?\b(?:in|after|for|another|about|least)\s|\bwait\s|\bretry=)(\d{1,6})\s?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b`,
  'i',
);
/** milter-greylist: `please come back in 00:04:59`. After `at` it would be a time of day. */
const CLOCK = new RegExp(String.raw`${ASKING}?\bin\s(\d{1,2}):([0-5]\d):([0-5]\d)\b`, 'i');

/** The wait that the text of a reply names, `try again in 300 seconds`, in seconds; undefined: none. */
export const askedWaitSeconds = (text: string): number | undefined => {
  const said = text.slice(0, TEXT_CHARACTERS_MAX).replace(/\s+/g, ' ');
  const [, hours, minutes, seconds] = CLOCK.exec(said) ?? [];
  if (hours !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const [, length, unit = ''] = LENGTH.exec(said) ?? [];
  return length === undefined ? undefined : Number(length) * (UNIT_SECONDS[unit.charAt(0).toLowerCase()] ?? 1);
};
