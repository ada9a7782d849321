/** Longest reply that is read: real ones have a few hundred bytes, and a peer that never ends one shall not be kept. */
const REPLY_BYTES_MAX = 64 * 1024;

const TOO_LONG = 'the server answered with more than a reply can be';
const MIXED = 'the server answered with lines that do not belong together';

const CONTINUED = /^\d{3}-/;
const NON_ASCII = /[^\0-\x7f]/;

/** Replies are collected byte by byte as Latin-1; UTF-8 where they are that (RFC 5321 §4.2.1 names no alphabet). */
const decoded = (bytes: string): string => {
  if (!NON_ASCII.test(bytes)) return bytes;
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return text.includes('\uFFFD') ? bytes : text;
};

export interface SmtpReplyListener {
  /** A reply is complete: one or more lines, each with its code, joined by line feeds. */
  readonly onReply: (response: string) => void;
  /** What came is no reply: too long, or lines of different codes in one (RFC 5321 §4.2.1). */
  readonly onNonsense: (sentence: string) => void;
}

/** Cuts what a server sends into replies, however its bytes are split. */
export const createSmtpReplyReader = ({ onReply, onNonsense }: SmtpReplyListener) => {
  /** The lines before the last of a reply. */
  let lines = '';
  /** The beginning of a line. */
  let rest = '';

  const takeReply = (lastLine: string): void => {
    const response = lines + lastLine;
    lines = '';
    onReply(decoded(response));
  };

  const takeLine = (line: string): void => {
    if (lines.length + line.length > REPLY_BYTES_MAX) onNonsense(TOO_LONG);
    else if (!line.startsWith(lines.slice(0, 3))) onNonsense(MIXED);
    else if (CONTINUED.test(line)) lines += `${line}\n`;
    else if (line !== '') takeReply(line); // some servers write empty lines between replies
  };

  const takeLines = (text: string): void => {
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      takeLine(text.slice(start, text[end - 1] === '\r' ? Math.max(end - 1, start) : end));
      start = end + 1;
    }
    rest = text.slice(start);
  };

  return {
    read: (bytes: Buffer): void => {
      const text = bytes.toString('latin1');
      if (text.includes('\n')) takeLines(rest + text);
      else rest += text; // left unflattened: a line that comes a byte at a time is not copied for each
      if (lines.length + rest.length <= REPLY_BYTES_MAX) return;
      lines = '';
      rest = '';
      onNonsense(TOO_LONG);
    },
    /** What has come of a line that was not ended. */
    unfinished: (): string => decoded(rest),
  };
};
