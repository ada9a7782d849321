const DAY = /^(\d{4})-(\d{2})-(\d{2})/;

/**
 * False for a day that does not exist: `Date` reads 2026-02-29 as 1 March. A text that does not begin with a day is
 * true.
 */
export const isOnCalendar = (text: string): boolean => {
  const [day, year, month, ofMonth] = DAY.exec(text) ?? [];
  if (day === undefined) return true;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(ofMonth)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(ofMonth);
};
