const LOCALE = 'en-GB';

/** €19.00 of 1900. @param minor in the currency's minor unit. @param currency ISO 4217. */
export const money = (minor: number, currency: string): string => {
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency });
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
};
