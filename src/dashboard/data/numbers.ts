/** Formats numbers for people. */

export const LOCALE = 'en-GB';

export const count = (value: number): string => value.toLocaleString(LOCALE);

/** Formats 1 byte, and 1,234 bytes. */
export const size = (bytes: number): string => `${count(bytes)} ${bytes === 1 ? 'byte' : 'bytes'}`;

/** Formats 98.21 %, with more digits for small shares. */
export const percent = (share: number): string => {
  const digits = share > 0 && share < 0.001 ? 3 : 2;
  return `${(share * 100).toLocaleString(LOCALE, { minimumFractionDigits: digits, maximumFractionDigits: digits })} %`;
};
