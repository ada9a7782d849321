/** An ordered record of a run. Two runs are identical if their digests are. */
export interface Trace {
  note(atMs: number, what: string): void;
  /** Digest of everything recorded so far; 16 hexadecimal digits. */
  digest(): string;
  /** Empty unless lines are kept. */
  lines(): readonly string[];
}

/** FNV-1a with two offsets. It is faster than a cryptographic hash, and traces need no protection against forgery. */
const PRIME = 16_777_619;
const FIRST = 0x811c9dc5;
const SECOND = 0x01000193 ^ 0x5bd1e995;

const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, '0');

export const createTrace = ({ keep }: { readonly keep: boolean }): Trace => {
  const kept: string[] = [];
  let first = FIRST;
  let second = SECOND;

  const mix = (value: number): void => {
    first = Math.imul(first ^ value, PRIME);
    second = Math.imul(second ^ (value + 1), PRIME) ^ (second >>> 15);
  };

  return {
    note: (atMs, what) => {
      mix(atMs);
      for (let at = 0; at < what.length; at += 1) mix(what.charCodeAt(at));
      if (keep) kept.push(`${(atMs / 1000).toFixed(3).padStart(10)} ${what}`);
    },
    digest: () => hex(first) + hex(second),
    lines: () => kept,
  };
};
