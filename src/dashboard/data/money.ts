const LOCALE = 'en-GB';

/** Formats 1900 as €19.00. @param minor amount in the minor unit. @param currency ISO 4217. */
export const money = (minor: number, currency: string): string => {
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency });
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
};
